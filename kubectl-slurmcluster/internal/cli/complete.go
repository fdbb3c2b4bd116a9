package cli

import (
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CompleteName completes the first argument with names of clusters, and the others with what other gives.
func (e *Env) CompleteName(other cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, other
		}
		return e.clusterNames(cmd), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteNames completes every argument with names of clusters.
func (e *Env) CompleteNames(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.clusterNames(cmd), cobra.ShellCompDirectiveNoFileComp
}

// clusterNames says nothing about errors: a shell that completes has no place for them.
func (e *Env) clusterNames(cmd *cobra.Command) []cobra.Completion {
	namespace, err := e.Namespace()
	if err != nil {
		return nil
	}
	clusters, err := e.Clusters(namespace)
	if err != nil {
		return nil
	}
	list, err := clusters.List(cmd.Context(), metav1.ListOptions{})
	if err != nil {
		return nil
	}
	names := make([]cobra.Completion, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

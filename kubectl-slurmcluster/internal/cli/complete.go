package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Completions say nothing about errors: a shell that completes has no place for them.

// CompleteName completes the first argument with names of clusters, and the others with what other gives.
func (e *Env) CompleteName(other cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, other
		}
		return e.clusterNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteNames completes every argument with names of clusters.
func (e *Env) CompleteNames(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.clusterNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

// CompleteNameAndNode completes the first argument with names of clusters, and the second with those of its nodes.
func (e *Env) CompleteNameAndNode(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return e.clusterNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return e.nodeNames(cmd.Context(), args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// CompleteNode completes a flag with the names of the nodes of the cluster that the first argument names.
func (e *Env) CompleteNode(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.nodeNames(cmd.Context(), args[0]), cobra.ShellCompDirectiveNoFileComp
}

// CompleteNodeSet completes a flag with the names of the node sets of the cluster that the first argument names.
func (e *Env) CompleteNodeSet(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.nodeSetNames(cmd.Context(), args[0]), cobra.ShellCompDirectiveNoFileComp
}

// CompleteClass completes a flag with the names of SlurmClusterClasses.
func (e *Env) CompleteClass(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	classes, err := e.Classes(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]cobra.Completion, 0, len(classes))
	for i := range classes {
		names = append(names, classes[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteRuntimeClass completes a flag with the names of RuntimeClasses.
func (e *Env) CompleteRuntimeClass(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.objectNames(func(kube kubernetes.Interface) (runtime.Object, error) {
		return kube.NodeV1().RuntimeClasses().List(cmd.Context(), metav1.ListOptions{})
	}), cobra.ShellCompDirectiveNoFileComp
}

// CompletePriorityClass completes a flag with the names of PriorityClasses.
func (e *Env) CompletePriorityClass(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.objectNames(func(kube kubernetes.Interface) (runtime.Object, error) {
		return kube.SchedulingV1().PriorityClasses().List(cmd.Context(), metav1.ListOptions{})
	}), cobra.ShellCompDirectiveNoFileComp
}

// CompleteStorageClass completes a flag with the names of StorageClasses.
func (e *Env) CompleteStorageClass(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return e.objectNames(func(kube kubernetes.Interface) (runtime.Object, error) {
		return kube.StorageV1().StorageClasses().List(cmd.Context(), metav1.ListOptions{})
	}), cobra.ShellCompDirectiveNoFileComp
}

// CompleteFlag lets function complete the values of a flag that the command has.
func CompleteFlag(cmd *cobra.Command, flag string, function cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, function); err != nil {
		panic(fmt.Sprintf("completing --%s of %s: %v", flag, cmd.Name(), err))
	}
}

func (e *Env) clusterNames(ctx context.Context) []cobra.Completion {
	clusters := e.completionClusters()
	if clusters == nil {
		return nil
	}
	list, err := clusters.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	names := make([]cobra.Completion, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// objectNames are the names of Kubernetes' own objects, as far as they can be listed.
func (e *Env) objectNames(list func(kubernetes.Interface) (runtime.Object, error)) []cobra.Completion {
	kube, err := e.Kube()
	if err != nil {
		return nil
	}
	objects, err := list(kube)
	if err != nil {
		return nil
	}
	var names []cobra.Completion
	err = meta.EachListItem(objects, func(object runtime.Object) error {
		accessor, err := meta.Accessor(object)
		if err == nil {
			names = append(names, accessor.GetName())
		}
		return err
	})
	if err != nil {
		return nil
	}
	return names
}

func (e *Env) nodeSetNames(ctx context.Context, name string) []cobra.Completion {
	clusters := e.completionClusters()
	if clusters == nil {
		return nil
	}
	cluster, err := clusters.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	names := make([]cobra.Completion, 0, len(cluster.Spec.NodeSets))
	for i := range cluster.Spec.NodeSets {
		names = append(names, cluster.Spec.NodeSets[i].Name)
	}
	return names
}

// nodeNames are the names of a cluster's nodes that have pods, as far as they can be read.
func (e *Env) nodeNames(ctx context.Context, cluster string) []cobra.Completion {
	namespace, err := e.Namespace()
	if err != nil {
		return nil
	}
	kube, err := e.Kube()
	if err != nil {
		return nil
	}
	list, err := kube.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: PodSelector(cluster, "") + "," + contract.LabelNode})
	if err != nil {
		return nil
	}
	names := make([]cobra.Completion, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Labels[contract.LabelNode])
	}
	return names
}

func (e *Env) completionClusters() Clusters {
	namespace, err := e.Namespace()
	if err != nil {
		return nil
	}
	clusters, err := e.Clusters(namespace)
	if err != nil {
		return nil
	}
	return clusters
}

// Package list prints SlurmClusters the way kubectl get does.
package list

import (
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// Command returns the command: kubectl's own get, for one resource.
func Command(env *cli.Env) *cobra.Command {
	factory := cmdutil.NewFactory(env.Flags)
	cmd := get.NewCmdGet("kubectl slurmcluster", factory, env.IOStreams)
	run := cmd.Run
	cmd.Run = nil
	cmd.Use = "list [NAME...] [flags]"
	cmd.Aliases = []string{"get", "ls"}
	cmd.SuggestFor = nil
	cmd.Short = "List Slurm clusters"
	cmd.Long = "List Slurm clusters. The flags are those of kubectl get."
	cmd.Example = "  kubectl slurmcluster list -A\n  kubectl slurmcluster list --watch"
	cmd.ValidArgsFunction = env.CompleteNames
	for _, flag := range []string{"filename", "recursive", "kustomize", "raw", "subresource"} {
		if err := cmd.Flags().MarkHidden(flag); err != nil {
			panic(err) // kubectl get has lost a flag
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkInstalled(cmd, env); err != nil {
			return err
		}
		run(cmd, append([]string{cli.QualifiedResource}, args...))
		return nil
	}
	return cmd
}

// checkInstalled asks before kubectl's code does, whose sentence would not say what to do.
func checkInstalled(cmd *cobra.Command, env *cli.Env) error {
	namespace, err := env.Namespace()
	if err != nil {
		return err
	}
	if all, err := cmd.Flags().GetBool("all-namespaces"); err == nil && all {
		namespace = metav1.NamespaceAll
	}
	clusters, err := env.Clusters(namespace)
	if err != nil {
		return err
	}
	_, err = clusters.List(cmd.Context(), metav1.ListOptions{Limit: 1})
	return cli.Explain(err)
}

// Package list prints SlurmClusters the way kubectl get does.
package list

import (
	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/cmd/get"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// shown are the flags of kubectl's get that help shows.
var shown = []string{"all-namespaces", "output", "selector", "sort-by", "watch", "no-headers"}

// Command returns the command: kubectl's own get, for one resource, with a column more.
func Command(env *cli.Env) *cobra.Command {
	o := get.NewGetOptions("kubectl slurmcluster", env.IOStreams)
	cmd := &cobra.Command{
		Use:     "list [NAME...] [flags]",
		Aliases: []string{"get", "ls"},
		Short:   "List Slurm clusters",
		Long: `List Slurm clusters. LEFT is how long it is until a cluster is deleted by
itself. The flags are those of kubectl get.`,
		Example:           "  kubectl slurmcluster list -A\n  kubectl slurmcluster list --watch\n  kubectl slurmcluster list -o wide",
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return run(cmd, env, o, args) },
	}
	flags := cmd.Flags()
	o.PrintFlags.AddFlags(cmd)
	cmdutil.AddLabelSelectorFlagVar(cmd, &o.LabelSelector)
	cmdutil.AddChunkSizeFlag(cmd, &o.ChunkSize)
	flags.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "list those of all namespaces")
	flags.BoolVarP(&o.Watch, "watch", "w", false, "go on and print each change")
	flags.BoolVar(&o.WatchOnly, "watch-only", false, "print changes only")
	flags.BoolVar(&o.OutputWatchEvents, "output-watch-events", false, "print changes as events")
	flags.StringVar(&o.FieldSelector, "field-selector", "", "list those whose fields have these values")
	flags.BoolVar(&o.IgnoreNotFound, "ignore-not-found", false, "a cluster that does not exist is no error")
	flags.BoolVar(&o.ServerPrint, "server-print", o.ServerPrint, "let the API server make the table")
	hide(cmd)
	return cmd
}

func run(cmd *cobra.Command, env *cli.Env, o *get.GetOptions, names []string) error {
	times, err := timesOf(cmd.Context(), env, o)
	if err != nil {
		return err
	}
	factory := cmdutil.NewFactory(env.Flags)
	args := append([]string{cli.QualifiedResource}, names...)
	if err := o.Complete(factory, cmd, args); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	if o.IsHumanReadablePrinter && o.ServerPrint {
		o.ToPrinter = withLeft(o.ToPrinter, times)
	}
	return o.Run(factory, args)
}

// Package status shows a cluster on one screen.
package status

import (
	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
)

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	format := output.NewFormat(output.JSON, output.YAML, output.Name)
	var watch bool
	cmd := &cobra.Command{
		Use:   "status NAME [flags]",
		Short: "Show a cluster: state, time left, nodes, pods, jobs, events",
		Example: `  kubectl slurmcluster status demo
  kubectl slurmcluster status demo --watch
  kubectl slurmcluster status demo -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return follow(cmd.Context(), env, args[0], format)
			}
			r, err := gather(cmd.Context(), env, args[0])
			if err != nil {
				return err
			}
			return r.print(env, format)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again every two seconds")
	format.AddFlag(cmd)
	return cmd
}

func (r *report) print(env *cli.Env, format *output.Format) error {
	return format.Print(env.Out, r, []string{cli.QualifiedSingular + "/" + r.Name}, func(bool) string { return r.text() })
}

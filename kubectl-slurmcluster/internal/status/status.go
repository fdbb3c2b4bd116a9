// Package status shows a cluster on one screen.
package status

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "status NAME [flags]",
		Short: "Show a cluster: state, nodes, pods, jobs, events",
		Example: `  kubectl slurmcluster status demo
  kubectl slurmcluster status demo -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), env, args[0], format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml; default: text for people")
	return cmd
}

func run(ctx context.Context, env *cli.Env, name, format string) error {
	write, known := formats[format]
	if !known {
		return fmt.Errorf("--output %q is not known; use json or yaml", format)
	}
	r, err := gather(ctx, env, name)
	if err != nil {
		return err
	}
	return write(env.Out, r)
}

// Package scale changes how many nodes a cluster has.
package scale

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/change"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

type options struct {
	env    *cli.Env
	result *cli.Result

	name    string
	wanted  wanted
	wait    bool
	timeout time.Duration
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	o := &options{env: env, result: cli.NewResult(env, "scaled")}
	var least, most int32
	cmd := &cobra.Command{
		Use:   "scale NAME [NUMBER] [flags]",
		Short: "Change how many nodes a cluster has",
		Long: `Change how many nodes a node set of a cluster has. A cluster with several node
sets wants --node-set. An autoscaled set has no number but limits: --min and
--max.

Nodes that are too many leave when their jobs have ended.`,
		Example: `  kubectl slurmcluster scale demo 4 --wait
  kubectl slurmcluster scale demo --node-set gpu 0
  kubectl slurmcluster scale demo --min 1 --max 20`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if len(args) > 1 {
				replicas, err := number(args[1])
				if err != nil {
					return err
				}
				o.wanted.replicas = &replicas
			}
			if cmd.Flags().Changed("min") {
				o.wanted.least = &least
			}
			if cmd.Flags().Changed("max") {
				o.wanted.most = &most
			}
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.wanted.set, "node-set", "", "`NAME` of the node set; default: the only one")
	flags.Int32Var(&least, "min", 0, "`NUMBER` of nodes that an autoscaled set always has")
	flags.Int32Var(&most, "max", 0, "`NUMBER` of nodes that an autoscaled set may have")
	flags.BoolVar(&o.wait, "wait", false, "return when the nodes are there, or gone")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long --wait waits, as `TIME`")
	o.result.AddFlags(cmd)
	cli.CompleteFlag(cmd, "node-set", env.CompleteNodeSet)
	return cmd
}

func number(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || n > maxNodes {
		return 0, fmt.Errorf("%q is not a number of nodes; give one from 0 to %d", text, maxNodes)
	}
	return int32(n), nil
}

func (o *options) run(ctx context.Context) error {
	start := time.Now()
	clusters, scaled, err := change.Run(ctx, o.env, o.result, o.name, o.wanted.fields)
	if err != nil {
		return err
	}
	if scaled.Spec.Suspend {
		_, err := fmt.Fprintf(o.result.Notes(), "%s is suspended; it has its nodes after: %s\n", o.name, o.env.Hint("resume", o.name))
		return err
	}
	if !o.wait {
		return nil
	}
	return wait.Tell(o.result.Notes(), o.env.ErrOut, o.name, start, func(report func(string)) (*v1alpha1.SlurmCluster, error) {
		return wait.Settled(ctx, clusters, o.name, o.timeout, report)
	}, wait.Size)
}

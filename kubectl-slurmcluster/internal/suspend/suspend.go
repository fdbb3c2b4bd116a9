// Package suspend takes the nodes of clusters away for a while, and brings them back.
package suspend

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/change"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

type options struct {
	env     *cli.Env
	result  *cli.Result
	suspend bool

	name    string
	now     bool
	wait    bool
	timeout time.Duration
}

// Command returns the command that suspends a cluster.
func Command(env *cli.Env) *cobra.Command {
	o := &options{env: env, result: cli.NewResult(env, "suspended"), suspend: true}
	cmd := o.command("return when the nodes are gone")
	cmd.Use = "suspend NAME [flags]"
	cmd.Short = "Take a cluster's nodes away for a while"
	cmd.Long = `Take the nodes of a cluster away until it is resumed. The queue stays: no job
starts, and running jobs are waited for, or with --now run again after the
resumption.

A cluster whose queue is on a volume (create --storage) gives its controller pod
back, too. Without a volume, slurmctld keeps the queue and therefore runs on.`
	cmd.Example = "  kubectl slurmcluster suspend demo --wait\n  kubectl slurmcluster suspend demo --now"
	cmd.Flags().BoolVar(&o.now, "now", false, "requeue running batch jobs at once instead of waiting for them")
	return cmd
}

// ResumeCommand returns the command that resumes a cluster.
func ResumeCommand(env *cli.Env) *cobra.Command {
	o := &options{env: env, result: cli.NewResult(env, "resumed")}
	cmd := o.command("return when the cluster is ready for jobs, or cannot become so")
	cmd.Use = "resume NAME [flags]"
	cmd.Short = "Give a suspended cluster its nodes back"
	cmd.Long = "Give a suspended cluster its nodes back. Jobs that have waited in its queue start."
	cmd.Example = "  kubectl slurmcluster resume demo --wait"
	return cmd
}

func (o *options) command(wait string) *cobra.Command {
	cmd := &cobra.Command{
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.wait, "wait", false, wait)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long --wait waits, as `TIME`")
	o.result.AddFlags(cmd)
	return cmd
}

func (o *options) run(ctx context.Context) error {
	start := time.Now()
	clusters, cluster, err := change.Run(ctx, o.env, o.result, o.name, o.fields)
	if err != nil {
		return err
	}
	if o.suspend {
		if _, err := fmt.Fprintln(o.result.Notes(), sentence(cluster)); err != nil {
			return err
		}
	}
	if o.now {
		if err := o.requeue(ctx, clusters, cluster.Generation); err != nil {
			return fmt.Errorf("%s is suspended, but not all of its jobs were requeued: %w", o.name, err)
		}
	}
	if !o.wait {
		return nil
	}
	return o.await(ctx, clusters, start)
}

func (o *options) fields(cluster *v1alpha1.SlurmCluster) ([]change.Field, error) {
	if cluster.Spec.Suspend == o.suspend {
		return nil, nil
	}
	return []change.Field{{Path: "/spec/suspend", Value: o.suspend}}, nil
}

// sentence says what becomes of the queue.
func sentence(cluster *v1alpha1.SlurmCluster) string {
	if cluster.Spec.Controller.Storage != nil {
		return "Its queue stays on its volume; slurmctld goes with the nodes."
	}
	return "Its queue stays in slurmctld, which keeps running; it has no volume."
}

func (o *options) await(ctx context.Context, clusters cli.Clusters, start time.Time) error {
	follow, done := wait.Ready, wait.Size
	if o.suspend {
		follow, done = wait.Suspended, func(*v1alpha1.SlurmCluster) string { return "has no nodes any more" }
	}
	return wait.Tell(o.result.Notes(), o.env.ErrOut, o.name, start, func(report func(string)) (*v1alpha1.SlurmCluster, error) {
		return follow(ctx, clusters, o.name, o.timeout, report)
	}, done)
}

// Package delete deletes SlurmClusters.
package delete

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

type options struct {
	env            *cli.Env
	format         *output.Format
	wait           bool
	timeout        time.Duration
	ignoreNotFound bool
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	o := &options{env: env, format: output.NewFormat(output.Name)}
	cmd := &cobra.Command{
		Use:   "delete NAME... [flags]",
		Short: "Delete Slurm clusters",
		Long: `Delete Slurm clusters, with their running and waiting jobs. By default the
command returns when a cluster and its pods are gone.`,
		Example:           "  kubectl slurmcluster delete demo",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: env.CompleteNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&o.wait, "wait", true, "return when the clusters are gone")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait for each")
	cmd.Flags().BoolVar(&o.ignoreNotFound, "ignore-not-found", false, "a cluster that does not exist is no error")
	o.format.AddFlag(cmd)
	return cmd
}

func (o *options) run(ctx context.Context, names []string) error {
	namespace, err := o.env.Namespace()
	if err != nil {
		return err
	}
	clusters, err := o.env.Clusters(namespace)
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		failures = append(failures, o.deleteOne(ctx, clusters, namespace, name))
	}
	return errors.Join(failures...)
}

func (o *options) deleteOne(ctx context.Context, clusters cli.Clusters, namespace, name string) error {
	start := time.Now()
	cluster, err := cli.GetCluster(ctx, clusters, namespace, name)
	if err != nil {
		if o.ignoreNotFound && errors.Is(err, cli.ErrNotFound) {
			return nil
		}
		return err
	}
	// In the foreground the object goes last, so that its end is the end of its pods too.
	policy := metav1.DeletePropagationForeground
	err = clusters.Delete(ctx, name, metav1.DeleteOptions{
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &cluster.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if !o.wait {
		return o.say(name, "deletion has begun")
	}
	line := progress.New(o.env.ErrOut)
	line.Update(name + ": waiting until it and its pods are gone")
	err = wait.Gone(ctx, clusters, name, string(cluster.UID), o.timeout)
	line.Clear()
	if err != nil {
		return err
	}
	return o.say(name, "deleted in "+progress.Elapsed(start))
}

func (o *options) say(name, what string) error {
	if o.format.ForPrograms() {
		_, err := fmt.Fprintf(o.env.Out, "%s/%s\n", cli.QualifiedSingular, name)
		return err
	}
	_, err := fmt.Fprintf(o.env.Out, "%s/%s %s\n", cli.QualifiedSingular, name, what)
	return err
}

// Package extend gives clusters more time.
package extend

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/change"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/lifetime"
)

const timeFormat = "Mon, 2 Jan 2006, 15:04 MST"

type options struct {
	env    *cli.Env
	result *cli.Result
	name   string
	more   time.Duration
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	o := &options{env: env, result: cli.NewResult(env, "extended")}
	cmd := &cobra.Command{
		Use:   "extend NAME TIME [flags]",
		Short: "Let a cluster end later",
		Long: `Let a cluster with a time to live (create --ttl, spec.lifecycle.ttl) end later
by TIME, such as 30m, 2h or 1d.`,
		Example:           "  kubectl slurmcluster extend demo 2h",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			var err error
			if o.more, err = lifetime.Parse(args[1]); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.result.AddFlags(cmd)
	return cmd
}

func (o *options) run(ctx context.Context) error {
	_, extended, err := change.Run(ctx, o.env, o.result, o.name, o.fields)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.result.Notes(), sentence(extended))
	return err
}

// fields are the cluster's new time to live, counted from its creation.
func (o *options) fields(cluster *v1alpha1.SlurmCluster) ([]change.Field, error) {
	lifecycle := lifetime.Of(cluster)
	switch {
	case lifecycle.TTL == nil && lifecycle.IdleTimeout != nil:
		return nil, fmt.Errorf("%s has no time to live that could be extended: it ends when it has been idle for %s; "+
			"a job, or a shell in its controller pod, keeps it", o.name, duration.HumanDuration(lifecycle.IdleTimeout.Duration))
	case lifecycle.TTL == nil:
		return nil, fmt.Errorf("%s has no time to live that could be extended: it stays until it is deleted", o.name)
	}
	ttl := lifecycle.TTL.Duration + o.more
	if end := cluster.CreationTimestamp.Add(ttl); time.Until(end) <= 0 {
		return nil, fmt.Errorf("the time of %s was over %s ago; %s more is not enough",
			o.name, duration.HumanDuration(time.Since(lifetime.End(cluster))), o.more)
	}
	if cluster.Spec.Lifecycle == (v1alpha1.LifecycleSpec{}) { // the ttl is the class's
		return []change.Field{{Path: "/spec/lifecycle", Value: v1alpha1.LifecycleSpec{TTL: &metav1.Duration{Duration: ttl}}}}, nil
	}
	return []change.Field{{Path: "/spec/lifecycle/ttl", Value: metav1.Duration{Duration: ttl}}}, nil
}

// sentence says when the cluster ends now. Its status does not say that yet.
func sentence(cluster *v1alpha1.SlurmCluster) string {
	end := lifetime.End(cluster)
	text := fmt.Sprintf("%s ends in %s, on %s", cluster.Name, lifetime.Left(end), end.Local().Format(timeFormat))
	if idle := lifetime.Of(cluster).IdleTimeout; idle != nil {
		text += fmt.Sprintf(",\nor when it has been idle for %s", duration.HumanDuration(idle.Duration))
	}
	return text
}

// Package install installs the operator from the chart that is built into the plugin. It is the only
// package that uses Helm, but for Helm's syntax of --set, which "create" has, too.
package install

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/cli/values"

	"github.com/slurmcluster/slurmcluster/charts"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

const defaultNamespace = "slurmcluster-system"

type options struct {
	env       *cli.Env
	namespace string
	values    values.Options
	image     string
	slurm     string
	watch     []string
	wait      bool
	timeout   time.Duration
	reset     bool
}

// Command returns "install".
func Command(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use:   "install [flags]",
		Short: "Install or upgrade the operator",
		Long: `Install the operator, or upgrade it to the version of this plugin. The command
can be repeated: settings of an earlier install are kept unless they are given
anew.

The namespace is ` + defaultNamespace + ` unless --namespace names another. If it does
not exist, it is made, with Pod Security "restricted".`,
		Example: `  kubectl slurmcluster install
  kubectl slurmcluster install --watch-namespaces team-a,team-b
  kubectl slurmcluster install --image registry.example/operator:1`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop() // Helm must note in its records that it was interrupted
			return o.run(ctx)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.image, "image", "", "image of the operator; default: the one of this version")
	flags.StringVar(&o.slurm, "slurm-image", "", "Slurm image of clusters that name none; default: the one of this version")
	flags.StringSliceVar(&o.watch, "watch-namespaces", nil, "namespaces to look after, which must exist; default: all")
	flags.StringArrayVar(&o.values.Values, "set", nil, "set a value of the chart, as KEY=VALUE (repeatable)")
	flags.StringArrayVarP(&o.values.ValueFiles, "values", "f", nil, "take values of the chart from a file (repeatable)")
	flags.BoolVar(&o.reset, "reset-values", false, "forget the settings of earlier installs")
	flags.BoolVar(&o.wait, "wait", true, "return when the operator runs")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long each step may take")
	return cmd
}

func (o *options) complete() error {
	namespace, err := namespaceOf(o.env)
	o.namespace = namespace
	return err
}

// namespaceOf is what --namespace says. What the kubeconfig says is where clusters go, not the operator.
func namespaceOf(env *cli.Env) (string, error) {
	if env.Flags.Namespace == nil {
		return "", errors.New("the kubeconfig flags have no --namespace")
	}
	if *env.Flags.Namespace == "" {
		*env.Flags.Namespace = defaultNamespace
	}
	return *env.Flags.Namespace, nil
}

// run takes the steps in the order in which they need each other.
func (o *options) run(ctx context.Context) error {
	clients, err := connect(o.env)
	if err != nil {
		return err
	}
	release, err := newRelease(o.env, o.namespace)
	if err != nil {
		return err
	}
	chartValues, err := o.chartValues()
	if err != nil {
		return err
	}
	start := time.Now()
	steps := []step{
		{"namespace " + o.namespace, func() (string, error) { return clients.ensureNamespace(ctx, o.namespace) }},
		{"custom resource " + cli.QualifiedResource, func() (string, error) { return clients.applyCRD(ctx, charts.OperatorCRD, o.timeout) }},
		{"custom resource " + cli.QualifiedClasses, func() (string, error) { return clients.applyCRD(ctx, charts.ClassCRD, o.timeout) }},
		{"chart " + charts.Operator, func() (string, error) { return release.apply(ctx, chartValues, o.reset, o.timeout) }},
	}
	if o.wait {
		steps = append(steps, step{"operator", func() (string, error) {
			return clients.waitForOperator(ctx, o.env.ErrOut, o.namespace, o.timeout, start)
		}})
	}
	return runSteps(o.env.Out, steps)
}

// chartValues are the values of --values, --set and of the flags that stand for one, the latter last.
func (o *options) chartValues() (map[string]any, error) {
	merged, err := mergeValues(o.values)
	if err != nil {
		return nil, err
	}
	if o.image != "" {
		merged["image"] = o.image
	}
	if o.slurm != "" {
		merged["slurmImage"] = o.slurm
	}
	if len(o.watch) > 0 {
		namespaces := make([]any, 0, len(o.watch))
		for _, name := range o.watch {
			namespaces = append(namespaces, name)
		}
		merged["watchNamespaces"] = namespaces
	}
	return merged, nil
}

package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/charts"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

type uninstallOptions struct {
	env          *cli.Env
	namespace    string
	keepClusters bool
	crd          bool
	removeSpace  bool
	timeout      time.Duration
}

// UninstallCommand returns "uninstall".
func UninstallCommand(env *cli.Env) *cobra.Command {
	o := &uninstallOptions{env: env}
	cmd := &cobra.Command{
		Use:   "uninstall [flags]",
		Short: "Remove the operator",
		Long: `Remove the operator. While clusters exist, it is refused: delete them first, or
keep them running without an operator with --keep-clusters.`,
		Example:           "  kubectl slurmcluster uninstall --delete-crd --delete-namespace",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.namespace, err = namespaceOf(env); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.keepClusters, "keep-clusters", false, "leave existing clusters running, without an operator")
	cmd.Flags().BoolVar(&o.crd, "delete-crd", false, "delete the custom resource definitions as well, and with them all SlurmClusterClasses")
	cmd.Flags().BoolVar(&o.removeSpace, "delete-namespace", false, "delete the operator's namespace and all that is in it")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait for the operator's end")
	cmd.MarkFlagsMutuallyExclusive("keep-clusters", "delete-crd") // without its definition no cluster stays
	return cmd
}

func (o *uninstallOptions) run(ctx context.Context) error {
	clients, err := connect(o.env)
	if err != nil {
		return err
	}
	release, err := newRelease(o.env, o.namespace)
	if err != nil {
		return err
	}
	if !o.keepClusters {
		if err := o.checkNoClusters(ctx); err != nil {
			return err
		}
	}
	steps := []step{{"chart " + charts.Operator, func() (string, error) { return release.uninstall(o.timeout) }}}
	if o.crd {
		for _, name := range []string{cli.QualifiedResource, cli.QualifiedClasses} {
			steps = append(steps, step{"custom resource " + name, func() (string, error) {
				return deleted(clients.dynamic.Resource(crds).Delete(ctx, name, metav1.DeleteOptions{}))
			}})
		}
	}
	if o.removeSpace {
		steps = append(steps, step{"namespace " + o.namespace, func() (string, error) {
			return deleted(clients.kube.CoreV1().Namespaces().Delete(ctx, o.namespace, metav1.DeleteOptions{}))
		}})
	}
	return runSteps(o.env.Out, steps)
}

func deleted(err error) (string, error) {
	if apierrors.IsNotFound(err) {
		return "did not exist", nil
	}
	return "deleted", err
}

func (o *uninstallOptions) checkNoClusters(ctx context.Context) error {
	clusters, err := o.env.Clusters(metav1.NamespaceAll)
	if err != nil {
		return err
	}
	list, err := clusters.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // no definition, no clusters
	}
	if err != nil || len(list.Items) == 0 {
		return err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Namespace+"/"+list.Items[i].Name)
	}
	return fmt.Errorf("%d SlurmClusters exist (%s); delete them first, or say --keep-clusters", len(names), strings.Join(names, ", "))
}

// Package create makes SlurmClusters from a command line.
package create

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

const fieldManager = "kubectl-slurmcluster"

// Options are what the command line says, first as text, then as checked values.
type Options struct {
	Env        *cli.Env
	PrintFlags *genericclioptions.PrintFlags

	Name, Namespace string
	// Nodes is a number, or two with '-' between: as few and as many as jobs need.
	Nodes string
	// IdleTimeout is how long a node that jobs brought stays without any; 0: the API's default.
	IdleTimeout           time.Duration
	CPUs, Memory, NodeSet string
	// CPURequest and MemoryRequest are what Kubernetes sets aside; empty: all of CPUs and Memory.
	CPURequest, MemoryRequest string
	Image                     string
	Features                  []string
	Storage, StorageClass     string
	Volumes, Config           []string
	Wait                      bool
	Timeout                   time.Duration

	dryRun cmdutil.DryRunStrategy

	replicas                  *int32
	autoscale                 *v1alpha1.Autoscale
	cpus, memory, storage     resource.Quantity
	cpuRequest, memoryRequest *resource.Quantity
	volumes                   []v1alpha1.SharedVolume
	config                    map[string]v1alpha1.ConfigValue
}

// NewOptions returns the defaults.
func NewOptions(env *cli.Env) *Options {
	return &Options{
		Env:        env,
		PrintFlags: genericclioptions.NewPrintFlags("created").WithTypeSetter(cli.Scheme),
		Nodes:      "1", CPUs: "1", Memory: "1Gi", NodeSet: "cpu",
		Timeout: 5 * time.Minute,
	}
}

// Complete adds what stands outside the flags.
func (o *Options) Complete(cmd *cobra.Command, args []string) error {
	o.Name = args[0]
	var err error
	if o.dryRun, err = cmdutil.GetDryRunStrategy(cmd); err != nil {
		return err
	}
	cmdutil.PrintFlagsWithDryRunStrategy(o.PrintFlags, o.dryRun)
	o.Namespace, err = o.Env.Namespace()
	return err
}

// Run creates the cluster and waits for it if that is wanted.
func (o *Options) Run(ctx context.Context) error {
	printer, err := o.PrintFlags.ToPrinter()
	if err != nil {
		return err
	}
	cluster := o.build()
	if o.dryRun == cmdutil.DryRunClient {
		return printer.PrintObj(cluster, o.Env.Out)
	}
	clusters, err := o.Env.Clusters(o.Namespace)
	if err != nil {
		return err
	}
	options := metav1.CreateOptions{FieldManager: fieldManager}
	if o.dryRun == cmdutil.DryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	start := time.Now()
	created, err := clusters.Create(ctx, cluster, options)
	if err != nil {
		return cli.Explain(err)
	}
	if err := printer.PrintObj(created, o.Env.Out); err != nil {
		return fmt.Errorf("printing the new SlurmCluster: %w", err)
	}
	if !o.Wait || o.dryRun == cmdutil.DryRunServer {
		return nil
	}
	return o.wait(ctx, clusters, start)
}

func (o *Options) wait(ctx context.Context, clusters cli.Clusters, start time.Time) error {
	line := progress.New(o.Env.ErrOut)
	ready, err := wait.Ready(ctx, clusters, o.Name, o.Timeout, func(state string) {
		line.Update(o.Name + ": " + state)
	})
	line.Clear()
	if err != nil {
		return err
	}
	out := o.Env.Out
	if o.PrintFlags.OutputFormat != nil && *o.PrintFlags.OutputFormat != "" {
		out = o.Env.ErrOut // standard output holds the object
	}
	_, err = fmt.Fprintf(out, "%s/%s ready: %s, in %s\n", cli.QualifiedSingular, o.Name, size(ready), progress.Elapsed(start))
	return err
}

func size(cluster *v1alpha1.SlurmCluster) string {
	var nodes, cpus int32
	if cluster.Status.ReadyNodes != nil {
		nodes = *cluster.Status.ReadyNodes
	}
	if cluster.Status.CPUs != nil {
		cpus = *cluster.Status.CPUs
	}
	return progress.Count(nodes, "node") + ", " + progress.Count(cpus, "CPU")
}

// Package create makes SlurmClusters from a command line.
package create

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

// Options are what the command line says, first as text, then as checked values.
type Options struct {
	Env    *cli.Env
	Result *cli.Result

	Name, Namespace string
	// Nodes is a number, or two with '-' between: as few and as many as jobs need.
	Nodes string
	// NodeIdleTimeout is how long a node that jobs brought stays without any; 0: the API's default.
	NodeIdleTimeout time.Duration
	// TTL and IdleTimeout say when the cluster ends by itself; empty: never.
	TTL, IdleTimeout      string
	CPUs, Memory, NodeSet string
	// CPURequest and MemoryRequest are what Kubernetes sets aside; empty: all of CPUs and Memory.
	CPURequest, MemoryRequest string
	Image                     string
	Features                  []string
	Storage, StorageClass     string
	// Class is the SlurmClusterClass; empty: the default one.
	Class string
	// Home is a claim for the shared home, and HomeSize the size of a new one, which outlives the cluster with KeepHome.
	Home, HomeSize         string
	KeepHome, AllOrNothing bool
	Volumes, Config        []string
	Wait                   bool
	Timeout                time.Duration

	dryRun cmdutil.DryRunStrategy
	// nodesGiven tells that something was said of the nodes, and fromClass that all of them come from the class.
	nodesGiven, fromClass bool
	// owner is who makes the cluster; empty if the API server does not tell.
	owner string

	replicas                  *int32
	autoscale                 *v1alpha1.Autoscale
	cpus, memory, storage     resource.Quantity
	cpuRequest, memoryRequest *resource.Quantity
	lifecycle                 v1alpha1.LifecycleSpec
	home                      *v1alpha1.HomeSpec
	volumes                   []v1alpha1.SharedVolume
	config                    map[string]v1alpha1.ConfigValue
}

// NewOptions returns the defaults.
func NewOptions(env *cli.Env) *Options {
	return &Options{
		Env:    env,
		Result: cli.NewResult(env, "created"),
		Nodes:  "1", CPUs: "1", Memory: "1Gi", NodeSet: "cpu",
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
	cmdutil.PrintFlagsWithDryRunStrategy(o.Result.PrintFlags, o.dryRun)
	for _, name := range []string{"nodes", "node-idle-timeout", "cpus", "memory", "cpu-request", "memory-request", "node-set", "features"} {
		o.nodesGiven = o.nodesGiven || cmd.Flags().Changed(name)
	}
	o.Namespace, err = o.Env.Namespace()
	return err
}

// Run creates the cluster and waits for it if that is wanted.
func (o *Options) Run(ctx context.Context) error {
	if _, err := o.Result.ToPrinter(); err != nil {
		return err // before anything is made
	}
	if err := o.consult(ctx); err != nil {
		return err
	}
	cluster := o.build()
	if o.dryRun == cmdutil.DryRunClient {
		return o.Result.Print(cluster)
	}
	clusters, err := o.Env.Clusters(o.Namespace)
	if err != nil {
		return err
	}
	options := metav1.CreateOptions{FieldManager: cli.FieldManager}
	if o.dryRun == cmdutil.DryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	start := time.Now()
	created, err := clusters.Create(ctx, cluster, options)
	if err != nil {
		return cli.Explain(err)
	}
	if err := o.Result.Print(created); err != nil {
		return err
	}
	if !o.Wait || o.dryRun == cmdutil.DryRunServer {
		return nil
	}
	return wait.Tell(o.Result.Notes(), o.Env.ErrOut, o.Name, start, func(report func(string)) (*v1alpha1.SlurmCluster, error) {
		return wait.Ready(ctx, clusters, o.Name, o.Timeout, report)
	}, wait.Size)
}

// Package create makes SlurmClusters from a command line.
package create

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	// NodeSet is what the flags of nodes say, and AddNodes has a text with the same keys for each further set.
	NodeSet  NodeSetOptions
	AddNodes []string
	// Partitions have the form name=NAME,KEY=VALUE,...
	Partitions []string
	// TTL and IdleTimeout say when the cluster ends by itself; empty: never.
	TTL, IdleTimeout      string
	Image                 string
	Storage, StorageClass string
	// Class is the SlurmClusterClass; empty: the default one.
	Class string
	// Home is a claim for the shared home, and HomeSize the size of a new one, which outlives the cluster with KeepHome.
	Home, HomeSize         string
	KeepHome, AllOrNothing bool
	Volumes, Config        []string
	// ImageVolumes are IMAGE:/PATH.
	ImageVolumes []string
	// Auth, Egress and Isolation are words of the API, in upper or lower case; empty: the API's defaults.
	Auth, Egress, Isolation string
	// Set has fields of the spec in the form PATH=VALUE, as Helm reads it.
	Set     []string
	Wait    bool
	Timeout time.Duration

	dryRun    cmdutil.DryRunStrategy
	nodeFlags *pflag.FlagSet
	// nodesGiven tells that something was said of the nodes, and fromClass that all of them come from the class.
	nodesGiven, fromClass bool
	// owner is who makes the cluster; empty if the API server does not tell.
	owner string

	nodeSets   []v1alpha1.NodeSet
	partitions []v1alpha1.Partition
	storage    resource.Quantity
	auth       v1alpha1.AuthSpec
	network    v1alpha1.NetworkSpec
	lifecycle  v1alpha1.LifecycleSpec
	home       *v1alpha1.HomeSpec
	volumes    []v1alpha1.SharedVolume
	config     map[string]v1alpha1.ConfigValue
}

// NewOptions returns the defaults.
func NewOptions(env *cli.Env) *Options {
	nodes := newNodeSetOptions("node-set", "--")
	nodes.Name = "cpu"
	return &Options{Env: env, Result: cli.NewResult(env, "created"), NodeSet: nodes, Timeout: 5 * time.Minute}
}

// Complete adds what stands outside the flags.
func (o *Options) Complete(cmd *cobra.Command, args []string) error {
	o.Name = args[0]
	var err error
	if o.dryRun, err = cmdutil.GetDryRunStrategy(cmd); err != nil {
		return err
	}
	cmdutil.PrintFlagsWithDryRunStrategy(o.Result.PrintFlags, o.dryRun)
	o.nodesGiven = len(o.AddNodes) > 0
	o.nodeFlags.VisitAll(func(flag *pflag.Flag) { o.nodesGiven = o.nodesGiven || flag.Changed })
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
	cluster, err := o.build()
	if err != nil {
		return err
	}
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

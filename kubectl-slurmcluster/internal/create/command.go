package create

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

const long = `Create a Slurm cluster in the current namespace, or in that of --namespace.

Flags go after the name: "kubectl create slurmcluster demo -n team-a". kubectl
does not accept its own flags in front of "create" here; "kubectl -n team-a
create slurmcluster demo" fails with "Unexpected args".`

const examples = `  # Two nodes with a CPU each; come back when they can run jobs
  kubectl create slurmcluster demo --nodes 2 --cpus 1 --memory 512Mi --wait

  # Up to ten nodes, as jobs need them, and none without jobs
  kubectl create slurmcluster demo --nodes 0-10 --node-idle-timeout 2m

  # A cluster that is deleted after eight hours, or when nobody uses it for one
  kubectl create slurmcluster demo --ttl 8h --idle-timeout 1h

  # A home directory that all nodes share, and a queue that outlives its pod
  kubectl create slurmcluster demo --volume home:/home/user --storage 1Gi

  # Write the manifest, create nothing
  kubectl create slurmcluster demo --nodes 4 --dry-run=client -o yaml`

// Program returns the command as a program of its own, which kubectl runs for "kubectl create slurmcluster".
func Program(env *cli.Env) *cobra.Command {
	cmd := Command(env)
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl create slurmcluster"}
	cmd.Use = "kubectl-create-slurmcluster NAME [flags]"
	return cmd
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	o := NewOptions(env)
	cmd := &cobra.Command{
		Use:     "create NAME [flags]",
		Short:   "Create a Slurm cluster",
		Long:    long,
		Example: examples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("give one name, such as: kubectl create slurmcluster demo")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(cmd, args); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *Options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.Nodes, "nodes", o.Nodes, "`NUMBER` of nodes, or MIN-MAX: as many as the jobs need")
	flags.DurationVar(&o.NodeIdleTimeout, "node-idle-timeout", 0, "how long a node above MIN stays without jobs, as `TIME` (default: 5m)")
	flags.StringVar(&o.Class, "class", "", "SlurmClusterClass, by `NAME` (default: the default class, if there is one)")
	flags.StringVar(&o.Home, "home", "", "the home directory that all nodes share is this `CLAIM`")
	flags.StringVar(&o.HomeSize, "home-size", "", "the home directory that all nodes share is a new claim of this `SIZE`, such as 10Gi")
	flags.BoolVar(&o.KeepHome, "keep-home", false, "let the new home outlive the cluster")
	flags.BoolVar(&o.AllOrNothing, "all-or-nothing", false, "start no jobs before all nodes are there, and have none while there is no room for all")
	flags.StringVar(&o.CPUs, "cpus", o.CPUs, "`CPUs` of each node, at least 1")
	flags.StringVar(&o.CPURequest, "cpu-request", "", "CPUs that Kubernetes sets aside for each node, as `QUANTITY`, where nodes may share theirs (default: all)")
	flags.StringVar(&o.MemoryRequest, "memory-request", "", "memory that Kubernetes sets aside for each node, as `QUANTITY` (default: all)")
	flags.StringVar(&o.Memory, "memory", o.Memory, "memory of each node, at least 128Mi, as `QUANTITY`")
	flags.StringVar(&o.NodeSet, "node-set", o.NodeSet, "`NAME` of the node set; its nodes are NAME-0, NAME-1, ...")
	flags.StringVar(&o.Image, "image", "", "Slurm `IMAGE`; default: the one that the operator was installed with")
	flags.StringSliceVar(&o.Features, "features", nil, "Slurm features of the nodes, as `NAME,...`")
	flags.StringVar(&o.Storage, "storage", "", "keep the queue on a volume of this `SIZE`, such as 1Gi")
	flags.StringVar(&o.StorageClass, "storage-class", "", "keep the queue on a volume of this class, by `NAME`")
	flags.StringArrayVar(&o.Volumes, "volume", nil, "mount a claim on all pods, as `CLAIM:/PATH[:ro]` (repeatable)")
	flags.StringArrayVar(&o.Config, "config", nil, "set a parameter of slurm.conf, as `KEY=VALUE` (repeatable)")
	flags.StringVar(&o.TTL, "ttl", "", "delete the cluster after this `TIME`, such as 8h or 2d")
	flags.StringVar(&o.IdleTimeout, "idle-timeout", "", "delete the cluster when it has had no job and no shell for this `TIME`, such as 30m")
	flags.BoolVar(&o.Wait, "wait", false, "return when the cluster is ready for jobs, or cannot become so")
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long --wait waits, as `TIME`")
	cmdutil.AddDryRunFlag(cmd)
	o.Result.AddFlags(cmd)
	flags.VisitAll(onlyOnce)
}

// onlyOnce makes a flag refuse a second value, where pflag would silently prefer the last one.
func onlyOnce(flag *pflag.Flag) {
	if _, repeatable := flag.Value.(pflag.SliceValue); !repeatable {
		flag.Value = &once{Value: flag.Value}
	}
}

type once struct {
	pflag.Value
	given bool
}

// Set implements pflag.Value.
func (o *once) Set(text string) error {
	if o.given {
		return errors.New("it is given twice; give it once")
	}
	o.given = true
	return o.Value.Set(text)
}

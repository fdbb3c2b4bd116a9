package create

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

const longFormat = `Create a Slurm cluster in the current namespace, or in that of --namespace.

Flags go after the name: "kubectl create slurmcluster demo -n team-a". kubectl
does not accept its own flags in front of "create" here; "kubectl -n team-a
create slurmcluster demo" fails with "Unexpected args".

The flags of nodes are about one node set. Each further set has an --add-nodes,
and each partition a --partition, with ',' between their keys and '+' between
the parts of a list:
  --add-nodes name=gpu,nodes=0-4,devices=nvidia.com/gpu=1,features=a100+nvlink
  --partition name=day,node-sets=cpu+gpu,default,max-time=1-0

Keys of --add-nodes, of which each but name is a flag, too: %s.

Keys of --partition: %s.

--set reaches every other field. It comes last and may change what other flags
say; "kubectl explain slurmcluster.spec --recursive" lists the fields:
  --set 'nodeSets[0].template.labels.team=a' --set suspend=true`

const examples = `  # Two nodes with a CPU each; come back when they can run jobs
  kubectl create slurmcluster demo --nodes 2 --cpus 1 --memory 512Mi --wait

  # Up to ten nodes, as jobs need them, and none without jobs
  kubectl create slurmcluster demo --nodes 0-10 --node-idle-timeout 2m

  # A cluster that is deleted after eight hours, or when nobody uses it for one
  kubectl create slurmcluster demo --ttl 8h --idle-timeout 1h

  # A home directory that all nodes share, and a queue that outlives its pod
  kubectl create slurmcluster demo --volume home:/home/user --storage 1Gi

  # Two GPUs for each node, on machines that are kept for such
  kubectl create slurmcluster demo --node-set gpu --devices nvidia.com/gpu=2 \
    --runtime-class nvidia --toleration nvidia.com/gpu:NoSchedule

  # Nodes of two kinds, each with a partition of its own
  kubectl create slurmcluster demo --nodes 4 --add-nodes name=big,cpus=16 \
    --partition name=short,node-sets=cpu,max-time=60 \
    --partition name=long,node-sets=big

  # Whatever else the spec of a SlurmCluster has
  kubectl create slurmcluster demo --home-size 10Gi \
    --set home.accessMode=ReadWriteOnce

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
	added, partition := newNodeSetOptions("name", ""), partitionOptions{}
	cmd := &cobra.Command{
		Use:     "create NAME [flags]",
		Short:   "Create a Slurm cluster",
		Long:    fmt.Sprintf(longFormat, keys(added.flags()), keys(partition.flags())),
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
	o.addCompletions(cmd)
	return cmd
}

func (o *Options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.nodeFlags = o.NodeSet.flags()
	flags.AddFlagSet(o.nodeFlags)
	flags.StringArrayVar(&o.AddNodes, "add-nodes", nil,
		"another node set, as `KEY=VALUE,...` with the keys above (repeatable)")
	flags.StringArrayVar(&o.Partitions, "partition", nil,
		"a partition, as `KEY=VALUE,...` with the keys above (repeatable; default: one over all nodes)")
	flags.StringVar(&o.Class, "class", "", "SlurmClusterClass, by `NAME` (default: the default class, if there is one)")
	flags.StringVar(&o.Home, "home", "", "the home directory that all nodes share is this `CLAIM`")
	flags.StringVar(&o.HomeSize, "home-size", "", "the home directory that all nodes share is a new claim of this `SIZE`, such as 10Gi")
	flags.BoolVar(&o.KeepHome, "keep-home", false, "let the new home outlive the cluster")
	flags.BoolVar(&o.AllOrNothing, "all-or-nothing", false, "start no jobs before all nodes are there, and have none while there is no room for all")
	flags.StringVar(&o.Image, "image", "", "Slurm `IMAGE`; default: the one that the operator was installed with")
	flags.StringVar(&o.Storage, "storage", "", "keep the queue on a volume of this `SIZE`, such as 1Gi")
	flags.StringVar(&o.StorageClass, "storage-class", "", "keep the queue on a volume of this class, by `NAME`")
	flags.StringArrayVar(&o.Volumes, "volume", nil, "mount a claim on all pods, as `CLAIM:/PATH[:ro]` (repeatable)")
	flags.StringArrayVar(&o.ImageVolumes, "image-volume", nil, "mount an image's files on all pods, as `IMAGE:/PATH` (repeatable)")
	flags.StringArrayVar(&o.Config, "config", nil, "set a parameter of slurm.conf, as `KEY=VALUE` (repeatable)")
	flags.StringVar(&o.Auth, "auth", "", "how daemons and clients know each other: `munge|slurm` (default: munge)")
	flags.StringVar(&o.Egress, "egress", "", "where pods may connect to: `open|restricted`; the latter is to each other and DNS (default: open)")
	flags.StringVar(&o.Isolation, "isolation", "", "whether a NetworkPolicy keeps others from pods: `isolated|none` (default: isolated)")
	flags.StringArrayVar(&o.Set, "set", nil, "set any field of the spec, as `PATH=VALUE` in Helm's syntax, such as suspend=true (repeatable)")
	flags.StringVar(&o.TTL, "ttl", "", "delete the cluster after this `TIME`, such as 8h or 2d")
	flags.StringVar(&o.IdleTimeout, "idle-timeout", "", "delete the cluster when it has had no job and no shell for this `TIME`, such as 30m")
	flags.BoolVar(&o.Wait, "wait", false, "return when the cluster is ready for jobs, or cannot become so")
	flags.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long --wait waits, as `TIME`")
	cmdutil.AddDryRunFlag(cmd)
	o.Result.AddFlags(cmd)
	flags.VisitAll(onlyOnce)
}

func (o *Options) addCompletions(cmd *cobra.Command) {
	for flag, complete := range map[string]cobra.CompletionFunc{
		"class":          o.Env.CompleteClass,
		"runtime-class":  o.Env.CompleteRuntimeClass,
		"priority-class": o.Env.CompletePriorityClass,
		"storage-class":  o.Env.CompleteStorageClass,
		"task-binding":   words("none", "cores"),
		"auth":           words("munge", "slurm"),
		"egress":         words("open", "restricted"),
		"isolation":      words("isolated", "none"),
	} {
		cli.CompleteFlag(cmd, flag, complete)
	}
}

func words(all ...cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
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

package nodes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
)

// description is everything about a node, and the form of its JSON. What could not be asked says why.
type description struct {
	Name       string      `json:"name"`
	Cluster    string      `json:"cluster"`
	Namespace  string      `json:"namespace"`
	Slurm      *slurm.Node `json:"slurm,omitempty"`
	SlurmError string      `json:"slurmError,omitempty"`
	// Jobs are those that run on it.
	Jobs []slurm.Job `json:"jobs"`
	Pod  *podReport  `json:"pod,omitempty"`
	Shim shimReport  `json:"shim"`
}

// DescribeCommand returns the command that describes a node.
func DescribeCommand(env *cli.Env) *cobra.Command {
	format := output.NewFormat(output.JSON, output.YAML)
	cmd := &cobra.Command{
		Use:   "describe-node NAME NODE [flags]",
		Short: "Show a node: in Slurm, its pod, and what it is granted",
		Long: `Show what Slurm knows of a node, how its pod is, and the node's own account:
what the kernel grants it, what the machine has and what Slurm is told.`,
		Example:           "  kubectl slurmcluster describe-node demo cpu-0",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: env.CompleteNameAndNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := describe(cmd.Context(), env, args[0], args[1], format.ForPrograms())
			if err != nil {
				return err
			}
			return format.Print(env.Out, d, nil, func(bool) string { return d.text() })
		},
	}
	format.AddFlag(cmd)
	return cmd
}

func describe(ctx context.Context, env *cli.Env, name, node string, forPrograms bool) (*description, error) {
	cluster, err := pods.Open(env, name)
	if err != nil {
		return nil, err
	}
	d := &description{Name: node, Cluster: name, Namespace: cluster.Namespace, Jobs: []slurm.Job{}}
	byNode, err := podsByNode(ctx, env, cluster)
	if err != nil {
		return nil, err
	}
	pod := byNode[node]
	if err := d.askSlurm(ctx, cluster); err != nil {
		if pod == nil {
			return nil, err // there is nothing else to show
		}
		d.SlurmError = err.Error()
	}
	if d.Slurm == nil && pod == nil {
		return nil, fmt.Errorf("%s has no node %q; see: %s", name, node, env.Hint("nodes", name))
	}
	d.Shim.Error = fmt.Sprintf("node %s has no running pod", node)
	if pod != nil {
		d.Pod = podReportOf(pod)
		if pod.Status.Phase == corev1.PodRunning {
			d.Shim = askShim(ctx, cluster, pod, forPrograms)
		}
	}
	return d, nil
}

func (d *description) askSlurm(ctx context.Context, cluster *pods.Cluster) error {
	found, err := slurm.Nodes(ctx, cluster, d.Name)
	if err != nil || len(found) == 0 {
		return err
	}
	jobs, err := slurm.Jobs(ctx, cluster, slurm.Current, "--nodelist="+d.Name)
	if err != nil {
		return err
	}
	d.Slurm, d.Jobs = &found[0], jobs
	return nil
}

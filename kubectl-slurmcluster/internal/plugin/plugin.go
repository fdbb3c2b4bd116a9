// Package plugin is "kubectl slurmcluster" with all its commands.
package plugin

import (
	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cp"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/create"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/delete"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/extend"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/install"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/jobs"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/list"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/logs"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/nodes"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/sbatch"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/scale"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurmcmd"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/status"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/suspend"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/version"
)

const (
	clustersGroup = "clusters"
	jobsGroup     = "jobs"
	operatorGroup = "operator"
)

// Command returns the root of all commands.
func Command(env *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-slurmcluster",
		Short: "Slurm clusters in Kubernetes",
		Long: `Create Slurm clusters in Kubernetes and run jobs on them.

Create a cluster, submit a script from this machine, read what it printed:
  kubectl create slurmcluster demo --nodes 2 --wait
  kubectl slurmcluster sbatch demo hello.sh
  kubectl slurmcluster logs demo 1`,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slurmcluster"},
	}
	root.AddGroup(
		&cobra.Group{ID: clustersGroup, Title: "Clusters:"},
		&cobra.Group{ID: jobsGroup, Title: "Jobs:"},
		&cobra.Group{ID: operatorGroup, Title: "Operator:"})
	add(root, clustersGroup, create.Command(env), status.Command(env), list.Command(env), scale.Command(env),
		extend.Command(env), suspend.Command(env), suspend.ResumeCommand(env), delete.Command(env), nodes.Command(env), nodes.DescribeCommand(env))
	add(root, jobsGroup, sbatch.Command(env), logs.Command(env), jobs.Command(env), cp.Command(env), slurmcmd.Shell(env))
	for _, c := range slurmCommands {
		add(root, jobsGroup, slurmcmd.Command(env, c.name, c.short, c.example))
	}
	add(root, operatorGroup, install.Command(env), install.UninstallCommand(env), version.Command(env))
	return root
}

var slurmCommands = []struct{ name, short, example string }{
	{"srun", "Run a command on a cluster's nodes",
		"  kubectl slurmcluster srun demo -N 2 hostname\n  kubectl slurmcluster srun demo --pty bash"},
	{"salloc", "Allocate nodes and open a shell for them",
		"  kubectl slurmcluster salloc demo -N 2\n  kubectl slurmcluster salloc demo -N 2 srun hostname"},
	{"squeue", "List jobs", "  kubectl slurmcluster squeue demo --long"},
	{"scancel", "End jobs", "  kubectl slurmcluster scancel demo 1"},
	{"sinfo", "List nodes and partitions", "  kubectl slurmcluster sinfo demo -N"},
	{"scontrol", "Show or change jobs, nodes and partitions", "  kubectl slurmcluster scontrol demo show node cpu-0"},
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

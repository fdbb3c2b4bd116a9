// Package jobs lists the jobs of a cluster.
package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
)

// maxName is how much of a job's name is shown.
const maxName = 16

// list is the form of the JSON.
type list struct {
	Jobs []slurm.Job `json:"jobs"`
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	format := output.NewFormat(output.Wide, output.JSON, output.YAML, output.Name)
	var all bool
	cmd := &cobra.Command{
		Use:   "jobs NAME [flags]",
		Short: "List a cluster's jobs",
		Long: `List the jobs of a cluster: first those that run, then those that wait, in the
order in which Slurm looks at them, and with --all those that have ended lately.
Lines are cut at 80 characters; -o wide shows everything.`,
		Example: `  kubectl slurmcluster jobs demo
  kubectl slurmcluster jobs demo --all -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			states := slurm.Current
			if all {
				states = slurm.All
			}
			return run(cmd.Context(), env, args[0], states, format)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list jobs that ended within the last hour, too")
	format.AddFlag(cmd)
	return cmd
}

func run(ctx context.Context, env *cli.Env, name, states string, format *output.Format) error {
	cluster, err := pods.Open(env, name)
	if err != nil {
		return err
	}
	jobs, err := slurm.Jobs(ctx, cluster, states)
	if err != nil {
		return err
	}
	if len(jobs) == 0 && !format.ForPrograms() {
		_, err := fmt.Fprintf(env.ErrOut, "%s has no jobs.\n", name)
		return err
	}
	ids := make([]string, 0, len(jobs))
	for i := range jobs {
		ids = append(ids, jobs[i].ID)
	}
	return format.Print(env.Out, list{jobs}, ids, func(wide bool) string { return table(jobs, wide).String() })
}

func table(jobs []slurm.Job, wide bool) *output.Table {
	t := &output.Table{Width: output.Columns, Header: []string{"ID", "NAME", "STATE", "TIME", "NODES", "CPUS", "WHERE OR WHY NOT"}}
	if wide {
		t.Width = 0
		t.Header = []string{"ID", "NAME", "USER", "PARTITION", "STATE", "TIME", "LIMIT", "SUBMITTED", "RESTARTS", "RESOURCES", "WHERE OR WHY NOT"}
	}
	for i := range jobs {
		j := &jobs[i]
		row := []string{j.ID, progress.Truncate(j.Name, maxName), j.State, j.Elapsed, fmt.Sprint(j.NodeCount), fmt.Sprint(j.CPUs), j.Where()}
		if wide {
			row = []string{j.ID, j.Name, j.User, j.Partition, j.State, j.Elapsed, j.TimeLimit, moment(j.Submitted),
				fmt.Sprint(j.Restarts), j.Resources, j.Where()}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func moment(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

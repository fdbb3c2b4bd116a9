// Package logs prints what jobs wrote, wherever they ran.
package logs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

// pollInterval is how often slurmctld is asked about a job that is followed.
const pollInterval = time.Second

// jobID is a job or a task of an array.
var jobID = regexp.MustCompile(`^[1-9][0-9]{0,9}(_[0-9]{1,9})?$`)

type options struct {
	env     *cli.Env
	cluster *pods.Cluster
	id      string
	follow  bool
	// printed are the jobs that need no more attention; headed says that several jobs share the output.
	printed map[string]bool
	headed  bool
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	o := &options{env: env, printed: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "logs NAME JOBID [flags]",
		Short: "Print what a job wrote",
		Long: `Print the output file of a batch job, whichever node it is on. A file of its own
for standard error goes to standard error. Of an array, all tasks are printed.`,
		Example: `  kubectl slurmcluster logs demo 1
  kubectl slurmcluster logs demo 2_3 --follow`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.id = args[1]; !jobID.MatchString(o.id) {
				return fmt.Errorf("%q is not the id of a job; write it like 17, or 17_3 for a task of an array", o.id)
			}
			var err error
			if o.cluster, err = pods.Open(env, args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "wait for the job and print until it has ended")
	return cmd
}

func (o *options) run(ctx context.Context) error {
	jobs, err := find(ctx, o.cluster, o.id)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return o.searchForgotten(ctx)
	}
	o.headed = len(jobs) > 1 || jobs[0].ArrayTasks != ""
	if !o.follow {
		return o.printAll(ctx, jobs)
	}
	line := progress.New(o.env.ErrOut)
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if jobs, err = find(ctx, o.cluster, o.id); err != nil {
			return false, err
		}
		return o.followAll(ctx, jobs, line)
	})
}

// printAll prints what there is; jobs without output are errors, told after the output of the others.
func (o *options) printAll(ctx context.Context, jobs []job) error {
	var failures []error
	for i := range jobs {
		if err := started(&jobs[i]); err != nil {
			failures = append(failures, err)
			continue
		}
		failures = append(failures, o.print(ctx, &jobs[i]))
	}
	return errors.Join(failures...)
}

// followAll follows each job that has started, one after the other, and says whether that were all.
func (o *options) followAll(ctx context.Context, jobs []job, line *progress.Line) (bool, error) {
	waiting := false
	for i := range jobs {
		j := &jobs[i]
		switch err := started(j); {
		case o.printed[j.id()]:
		case j.pending() && j.Batch:
			waiting = true
			line.Update(err.Error())
		case err != nil && o.headed:
			o.printed[j.id()] = true
			line.Update(err.Error()) // other tasks may have output
		case err != nil:
			return false, err
		default:
			line.Clear()
			again, err := o.followJob(ctx, j)
			if err != nil {
				return false, err
			}
			o.printed[j.id()] = !again
			waiting = true // others may have started meanwhile
		}
	}
	return !waiting, nil
}

// started says why a job has no output yet, or never will.
func started(j *job) error {
	switch {
	case !j.Batch:
		return fmt.Errorf("job %s was started by srun or salloc: its output went to the terminal it was started from", j.id())
	case j.pending():
		return fmt.Errorf("job %s has not started: %s", j.id(), j.Reason)
	case j.Host == "":
		return fmt.Errorf("job %s (%s) ended before it started, without output", j.id(), j.state())
	}
	return nil
}

// header separates the outputs of several jobs.
func (o *options) header(words ...string) error {
	if !o.headed {
		return nil
	}
	_, err := fmt.Fprintf(o.env.Out, "==> %s <==\n", strings.Join(words, ", "))
	return err
}

package suspend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
	follow "github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

const (
	// seenWithin is how long the operator may take to stop jobs from starting. A job that is requeued before that
	// could start again.
	seenWithin = 20 * time.Second
	// requeueWithin is how long jobs may take to leave their nodes.
	requeueWithin = 30 * time.Second
	requeueEvery  = time.Second
	// atOnce is how many jobs a command names: command lines travel in the address of a request.
	atOnce = 100
)

// requeue takes running batch jobs off their nodes, so that they wait in the queue again, and names those for which
// that is not possible.
func (o *options) requeue(ctx context.Context, clusters cli.Clusters, generation int64) error {
	cluster, err := pods.Open(o.env, o.name)
	if err != nil {
		return err
	}
	if err := follow.Observed(ctx, clusters, o.name, generation, seenWithin); err != nil {
		return err
	}
	requeued, kept := map[string]bool{}, map[string]string{}
	err = wait.PollUntilContextTimeout(ctx, requeueEvery, requeueWithin, true, func(ctx context.Context) (bool, error) {
		running, err := slurm.Jobs(ctx, cluster, slurm.Running)
		if errors.Is(err, pods.ErrSuspended) {
			return true, nil // slurmctld has gone, because no job runs any more
		}
		if err != nil {
			return false, err
		}
		kept = map[string]string{}
		var again []string
		for i := range running {
			if why := whyNot(&running[i]); why != "" {
				kept[running[i].ID] = why
			} else {
				again = append(again, running[i].ID)
				requeued[running[i].ID] = true
			}
		}
		return len(again) == 0, send(ctx, cluster, again)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("some still run after %s; see: %s", requeueWithin, o.env.Hint("jobs", o.name))
	}
	return errors.Join(err, o.tell(requeued, kept))
}

// whyNot says why a job cannot be requeued, or nothing.
func whyNot(j *slurm.Job) string {
	switch {
	case !j.Batch:
		return "interactive"
	case !j.Requeueable:
		return "--no-requeue"
	}
	return ""
}

// send asks for it. slurmctld refuses jobs that have ended meanwhile: the next look tells.
func send(ctx context.Context, cluster *pods.Cluster, ids []string) error {
	for some := range slices.Chunk(ids, atOnce) {
		_, err := cluster.Output(ctx, cluster.Controller(), "scontrol", "requeue", strings.Join(some, ","))
		if _, ran := podexec.ExitCode(err); err != nil && !ran {
			return err
		}
	}
	return nil
}

func (o *options) tell(requeued map[string]bool, kept map[string]string) error {
	text := ""
	if len(requeued) > 0 {
		text = "Jobs that were requeued: " + strings.Join(slices.Sorted(maps.Keys(requeued)), ", ") + "\n"
	}
	if len(kept) > 0 {
		var names []string
		for _, id := range slices.Sorted(maps.Keys(kept)) {
			names = append(names, fmt.Sprintf("%s (%s)", id, kept[id]))
		}
		text += "Jobs that cannot be requeued and are waited for: " + strings.Join(names, ", ") + "\n"
	}
	_, err := fmt.Fprint(o.result.Notes(), text)
	return err
}

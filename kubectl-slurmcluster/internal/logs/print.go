package logs

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// output is a file of a job and where it goes.
type output struct {
	path   string
	target podexec.Target
	to     io.Writer
}

// outputs finds the files of a job.
func (o *options) outputs(ctx context.Context, j *job) ([]output, error) {
	files := []output{{path: j.Stdout, to: o.env.Out}}
	if path := j.stderr(); path != "" {
		files = append(files, output{path: path, to: o.env.ErrOut})
	}
	for i := range files {
		var err error
		files[i].target, err = locate(ctx, o.cluster, j.Host, files[i].path)
		if errors.Is(err, errNoFile) && o.follow && !j.ended() {
			files[i].target, err = o.cluster.Node(ctx, j.Host) // it will appear there
		}
		if errors.Is(err, errNoFile) {
			return nil, noOutput(ctx, o.cluster, j)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (o *options) print(ctx context.Context, j *job) error {
	files, err := o.outputs(ctx, j)
	if err != nil {
		return err
	}
	if err := o.header(j.id(), j.Host, j.state()); err != nil {
		return err
	}
	for _, file := range files {
		if err := printFile(ctx, o.cluster, file.target, file.path, file.to, o.env.ErrOut); err != nil {
			return err
		}
	}
	return nil
}

// followJob prints until the job has ended. It says whether the job will run again, because it was requeued.
func (o *options) followJob(ctx context.Context, j *job) (again bool, err error) {
	files, err := o.outputs(ctx, j)
	if err != nil {
		return false, err
	}
	if err := o.header(j.id(), j.Host); err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	failures := make([]error, len(files))
	var group sync.WaitGroup
	for i, file := range files {
		group.Go(func() {
			failures[i] = followFile(ctx, o.cluster, file.target, file.path, done, file.to, o.env.ErrOut)
			if failures[i] != nil {
				cancel() // the others and the polling need not go on
			}
		})
	}
	again, err = o.awaitEnd(ctx, j)
	close(done)
	group.Wait()
	if failed := slices.IndexFunc(failures, func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }); failed >= 0 {
		return false, failures[failed]
	}
	return again, err
}

// awaitEnd polls until this run of the job has ended; a job that Slurm has forgotten has ended too.
func (o *options) awaitEnd(ctx context.Context, j *job) (again bool, err error) {
	err = wait.PollUntilContextCancel(ctx, pollInterval, false, func(ctx context.Context) (bool, error) {
		jobs, err := find(ctx, o.cluster, j.id())
		if err != nil || len(jobs) == 0 {
			return err == nil, err
		}
		again = jobs[0].pending() || jobs[0].Host != j.Host
		return again || jobs[0].ended(), nil
	})
	return again, err
}

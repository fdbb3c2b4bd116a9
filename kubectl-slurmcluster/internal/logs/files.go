package logs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// exitMissing is no exit code of sh, test or cat.
const exitMissing = 66

const exists = `test -e "$0" || exit 66`

// follow prints a file, and what is added to it, until standard input ends. tail ends after it has seen
// that the process of --pid is gone and has read the rest. That the gate reads standard input also ends
// tail when the connection breaks.
const follow = `exec 3<&0; cat <&3 >/dev/null & gate=$!
tail -n +1 -s 0.2 --pid=$gate -F -- "$0" 2>/dev/null &
wait $gate; wait $!`

// errNoFile says that no pod of the cluster has the file.
var errNoFile = errors.New("no pod of the cluster has it")

// locate finds the pod that has a job's file: that of its node, or any other if the directory is shared.
func locate(ctx context.Context, cluster *pods.Cluster, node, path string) (podexec.Target, error) {
	target, err := cluster.Node(ctx, node)
	var noNode *pods.NoNodeError
	if err != nil && !errors.As(err, &noNode) {
		return target, err
	}
	if err == nil {
		if found, err := hasFile(ctx, cluster, target, path); found || err != nil {
			return target, err
		}
	}
	all, err := cluster.All(ctx)
	if err != nil {
		return target, err
	}
	for _, other := range all {
		if other == target {
			continue
		}
		if found, err := hasFile(ctx, cluster, other, path); found || err != nil {
			return other, err
		}
	}
	return podexec.Target{}, errNoFile
}

func hasFile(ctx context.Context, cluster *pods.Cluster, target podexec.Target, path string) (bool, error) {
	_, err := cluster.Output(ctx, target, "sh", "-c", exists, path)
	if code, ran := podexec.ExitCode(err); ran && code == exitMissing {
		return false, nil
	}
	return err == nil, err
}

func printFile(ctx context.Context, cluster *pods.Cluster, target podexec.Target, path string, out, errOut io.Writer) error {
	return cluster.Run(ctx, target, []string{"cat", "--", path}, podexec.Streams{Out: out, Err: errOut})
}

// followFile prints a file as it grows, until done is closed and the rest is printed.
func followFile(ctx context.Context, cluster *pods.Cluster, target podexec.Target, path string, done <-chan struct{}, out, errOut io.Writer) error {
	gate, opener := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-done:
		case <-ctx.Done():
		}
		_ = opener.Close() // of a pipe, it never fails
	}()
	return cluster.Run(ctx, target, []string{"sh", "-c", follow, path}, podexec.Streams{In: gate, Out: out, Err: errOut})
}

// noOutput explains why a job's file cannot be shown.
func noOutput(ctx context.Context, cluster *pods.Cluster, j *job) error {
	if _, err := cluster.Node(ctx, j.Host); err != nil {
		return fmt.Errorf("job %s wrote %s on node %s, whose pod is gone; a shared volume keeps outputs "+
			"(kubectl create slurmcluster ... --volume CLAIM:%s)", j.id(), j.Stdout, j.Host, contract.HomeDir)
	}
	return fmt.Errorf("job %s (%s) has no file %s on node %s", j.id(), j.state(), j.Stdout, j.Host)
}

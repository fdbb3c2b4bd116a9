package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// in runs a command where slurmctld is.
func (b *bench) in(ctx context.Context, command ...string) (string, error) {
	where := kube.Container{Namespace: b.namespace, Pod: "bench-controller-0", Name: contract.ContainerSlurmctld}
	out, err := b.Exec(ctx, where, nil, command...)
	return strings.TrimSpace(out), err
}

// replicas sets how many nodes the cluster has.
func (b *bench) replicas(ctx context.Context, n int) error {
	cluster := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "bench"}}
	patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/nodeSets/0/replicas","value":%d}]`, n)
	return b.Patch(ctx, cluster, client.RawPatch("application/json-patch+json", patch))
}

// awaitCluster waits until the cluster is as wanted.
func (b *bench) awaitCluster(ctx context.Context, is func(*v1alpha1.SlurmCluster) bool) error {
	watcher, err := b.Watch(ctx, &v1alpha1.SlurmClusterList{}, client.InNamespace(b.namespace), client.MatchingFields{"metadata.name": "bench"})
	if err != nil {
		return fmt.Errorf("watching the cluster: %w", err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if c, ok := event.Object.(*v1alpha1.SlurmCluster); ok && event.Type != watch.Deleted && c.Status.ObservedGeneration == c.Generation && is(c) {
			return nil
		}
	}
	return errors.Join(errors.New("the watch of the cluster ended before it was as wanted"), ctx.Err())
}

func isReady(c *v1alpha1.SlurmCluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
}

// oneMore is (f): a node more, until Slurm can use it.
func (b *bench) oneMore(ctx context.Context) error {
	if err := b.replicas(ctx, 3); err != nil {
		return err
	}
	return b.awaitCluster(ctx, func(c *v1alpha1.SlurmCluster) bool {
		return len(c.Status.NodeSets) == 1 && c.Status.NodeSets[0].Idle == 3
	})
}

// createEmpty makes a cluster that has nodes only when jobs need them.
func (b *bench) createEmpty(ctx context.Context) error {
	c := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "bench"}}
	c.Spec.Image = b.image
	c.Spec.NodeSets = []v1alpha1.NodeSet{{
		Name: "cpu", Autoscale: &v1alpha1.Autoscale{Max: 2},
		Resources: v1alpha1.NodeResources{CPU: resource.MustParse("1"), Memory: resource.MustParse("512Mi")},
	}}
	if err := b.Create(ctx, c); err != nil {
		return err
	}
	if err := b.awaitCluster(ctx, isReady); err != nil {
		return err
	}
	// The nodes that could be are made known right after.
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		nodes, err := b.in(ctx, "sinfo", "--noheader", "--Node", "--format=%N")
		return len(strings.Fields(nodes)) == 2, err
	})
	if err != nil {
		return err
	}
	return pause(ctx, firstSchedule)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// firstSchedule is longer than slurmctld takes from its start until it looks for jobs to start. That is once in its life, and
// no part of what a job at zero nodes waits for.
const firstSchedule = 6 * time.Second

// fromZero is (g): a job while there is no node, until it runs. (srun would look for that at times of its own, which grow by
// half a second each.)
func (b *bench) fromZero(ctx context.Context) error { return b.submit(ctx) }

// createBusy makes a cluster of two nodes with a job on one.
func (b *bench) createBusy(ctx context.Context) error {
	if err := b.create(ctx); err != nil {
		return err
	}
	return b.submit(ctx)
}

// submit submits a job and waits until it runs.
func (b *bench) submit(ctx context.Context) error {
	if _, err := b.in(ctx, "sbatch", "--requeue", "--output=/dev/null", "--wrap=sleep 600"); err != nil {
		return err
	}
	return b.awaitJob(ctx, "0")
}

// awaitJob waits until the job runs after a number of restarts.
func (b *bench) awaitJob(ctx context.Context, restarts string) error {
	return wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		is, err := b.in(ctx, "squeue", "--noheader", "--Format=StateCompact,RestartCnt,NodeList")
		fields := strings.Fields(is)
		if err != nil || len(fields) != 3 || fields[0] != "R" || fields[1] != restarts {
			return false, err
		}
		b.busyNode = fields[2]
		return true, nil
	})
}

// killSlurmd kills slurmd, and all that runs in its container with it.
const killSlurmd = `for p in /proc/[0-9]*; do [ "$(cat $p/comm)" != slurmd ] || kill -9 ${p#/proc/}; done`

// again is (h): the job of a node that was killed, until it runs again, there or on the other one.
func (b *bench) again(ctx context.Context) error {
	where := kube.Container{Namespace: b.namespace, Pod: "bench-" + b.busyNode, Name: contract.ContainerSlurmd}
	// The command itself ends with the container.
	_, _ = b.Exec(ctx, where, nil, "sh", "-c", killSlurmd)
	return b.awaitJob(ctx, "1")
}

// scaleEvents is how often a cluster is scaled to find out whether slurmctld notices.
const scaleEvents = 100

// scaleOften scales a cluster again and again and counts how often slurmctld started anew or read its configuration anew:
// it says since when it runs with it.
func (b *bench) scaleOften(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 10*runLimit)
	defer cancel()
	if err := b.create(ctx); err != nil {
		return err
	}
	const since = "scontrol show config | grep BOOT_TIME"
	before, err := b.in(ctx, "sh", "-c", since)
	if err != nil {
		return err
	}
	changes, began := 0, time.Now()
	for i := range scaleEvents {
		want := 1 + i%3
		if err := b.replicas(ctx, want); err != nil {
			return err
		}
		err := b.awaitCluster(ctx, func(c *v1alpha1.SlurmCluster) bool {
			return isReady(c) && *c.Status.Nodes == int32(want) && !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionProgressing)
		})
		if err != nil {
			return fmt.Errorf("scale event %d: %w", i+1, err)
		}
		now, err := b.in(ctx, "sh", "-c", since)
		if err != nil {
			return err
		}
		if now != before {
			changes, before = changes+1, now
		}
		if (i+1)%10 == 0 {
			fmt.Fprintf(os.Stderr, "scale event %d of %d, after %.0f s\n", i+1, scaleEvents, time.Since(began).Seconds())
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n\tmeasured\tat most\nrestarts and reconfigures of slurmctld in %d scale events\t%d\t0\n", scaleEvents, changes)
	return errors.Join(table.Flush(), b.deleteCluster(ctx), b.awaitEmpty(ctx))
}

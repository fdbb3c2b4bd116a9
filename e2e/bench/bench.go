package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

const (
	// runLimit bounds a single measurement, so that one that never ends says so.
	runLimit  = 3 * time.Minute
	pollEvery = 100 * time.Millisecond
)

// way is one way to get something done: what is timed, what must be there before, and what removes it again. One with many pods
// leaves much for the kubelets to sweep.
type way struct {
	name, title string
	many        bool
	prepare     func(context.Context) error
	start       func(context.Context) error
	remove      func(context.Context) error
	took        []time.Duration
}

type bench struct {
	*kube.Kube
	namespace string
	image     string
	ways      []*way
	// busyNode is the node of (h)'s job.
	busyNode string
}

// newBench makes a namespace to measure in. It enforces Pod Security "restricted", as users' namespaces do.
func newBench(ctx context.Context, image, only string) (*bench, error) {
	k, err := kube.Connect()
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "bench-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := k.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("making a namespace: %w", err)
	}
	b := &bench{Kube: k, namespace: namespace.Name, image: image}
	manual := &manual{bench: b}
	b.ways = []*way{
		{name: "a", title: "kubectl create slurmcluster, then srun", start: b.create, remove: b.deleteCluster},
		{name: "b", title: "the same by hand-written manifests", start: manual.apply, remove: manual.delete},
		{name: "c", title: "a bare pod of two containers to Ready", start: b.bare, remove: b.deleteBare},
		{name: "d", title: "a busy job on each of two nodes of one CPU", prepare: b.create, start: b.busyJobs, remove: b.deleteCluster},
		{name: "f", title: "a node more, until Slurm can use it", prepare: b.create, start: b.oneMore, remove: b.deleteCluster},
		{name: "g", title: "a job in a cluster without nodes, until it runs", prepare: b.createEmpty, start: b.fromZero, remove: b.deleteCluster},
		{name: "h", title: "the job of a killed node, until it runs again", prepare: b.createBusy, start: b.again, remove: b.deleteCluster},
		{name: "e", title: "the same in two bare pods", prepare: b.startPair, start: b.busyPods, remove: b.deletePair},
		{name: "i", title: "kubectl create slurmcluster --class --wait", prepare: b.createClass, start: b.createOfClass, remove: b.deleteOfClass},
		{name: "j", many: true, title: "20 clusters of one node at once, to the last first job", start: b.createCrowd(v1alpha1.AuthMunge), remove: b.deleteCrowd},
		{name: "m", many: true, title: "the same with auth.type: Slurm", start: b.createCrowd(v1alpha1.AuthSlurm), remove: b.deleteCrowd},
		{name: "k", many: true, title: "40 bare pods of two containers at once to Ready", start: b.barePods, remove: b.deleteBarePods},
		{name: "l", title: "kubectl slurmcluster delete of an idle cluster", prepare: b.createIdle, start: b.deleteCluster, remove: b.deleteClass},
	}
	if only != "" {
		b.ways = slices.DeleteFunc(b.ways, func(w *way) bool { return !strings.Contains(only, w.name) })
	}
	return b, manual.prepare(ctx)
}

// measure runs all ways in turn, each round in another order, so that none is always the first.
func (b *bench) measure(ctx context.Context, runs int) error {
	for round := range runs {
		for i := range b.ways {
			w := b.ways[(i+round)%len(b.ways)]
			took, err := b.once(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.title, err)
			}
			w.took = append(w.took, took)
			fmt.Fprintf(os.Stderr, "run %d of %d: %-40s %5.2f s\n", round+1, runs, w.title, took.Seconds())
		}
	}
	return nil
}

func (b *bench) once(ctx context.Context, w *way) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	if w.prepare != nil {
		if err := w.prepare(ctx); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	if err := w.start(ctx); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if err := w.remove(ctx); err != nil {
		return 0, err
	}
	if err := b.awaitEmpty(ctx); err != nil || !w.many {
		return took, err
	}
	return took, b.awaitSwept(ctx)
}

// awaitEmpty waits until no pod is left, so that no run pays for the one before. That is only so because none is
// deleted with a grace period of 0, at which the API server forgets pods that still run.
func (b *bench) awaitEmpty(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := b.List(ctx, pods, client.InNamespace(b.namespace))
		return len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting until all pods are gone: %w", err)
	}
	return nil
}

// awaitSwept waits until the kubelets have removed what is left of deleted pods: they sweep once a minute, which after 40 pods costs
// a run that begins before that seconds of CPU. Last of all they remove the names of the containers' logs, which they show.
func (b *bench) awaitSwept(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := b.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range nodes.Items {
		logs := b.Set.CoreV1().RESTClient().Get().Resource("nodes").Name(node.Name).SubResource("proxy").Suffix("logs/containers/")
		err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			names, err := logs.Do(ctx).Raw()
			return !bytes.Contains(names, []byte("_"+b.namespace+"_")), err
		})
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			program.Progress("the kubelet of %s does not show when it has removed what is left of pods: the next run may pay for this one (%v)", node.Name, err)
		case err != nil:
			return fmt.Errorf("waiting until the kubelet of %s has removed what is left of pods: %w", node.Name, err)
		}
	}
	return nil
}

// remove deletes the namespace.
func (b *bench) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	if err := b.Delete(ctx, namespace); err != nil {
		return fmt.Errorf("deleting namespace %s: %w", b.namespace, err)
	}
	return wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		err := b.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

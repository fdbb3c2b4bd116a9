package main

import (
	"context"
	_ "embed"
	"fmt"
	"text/template"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

//go:embed pair.yaml.tmpl
var pairText string

var pairTemplate = template.Must(template.New("pair").Parse(pairText))

// pair are the names of the bare pods, and of their containers.
var pair = []string{"busy-0", "busy-1"}

// busy keeps one CPU busy for some seconds.
const busy = "for ((i = 0; i < 2000000; i++)); do :; done"

// busyJobs is (d): two jobs at once, each on a node with a share of the machine's CPUs. Were Slurm to bind them, both
// would be on the same CPU.
func (b *bench) busyJobs(ctx context.Context) error {
	where := kube.Container{Namespace: b.namespace, Pod: "bench-controller-0", Name: contract.ContainerSlurmctld}
	return both(func(i int) error {
		_, err := b.Exec(ctx, where, nil, "srun", fmt.Sprintf("--nodelist=cpu-%d", i), "bash", "-c", busy)
		return err
	})
}

// busyPods is (e): the same without Slurm.
func (b *bench) busyPods(ctx context.Context) error {
	return both(func(i int) error {
		_, err := b.Exec(ctx, kube.Container{Namespace: b.namespace, Pod: pair[i], Name: pair[i]}, nil, "bash", "-c", busy)
		return err
	})
}

func both(do func(i int) error) error {
	var all errgroup.Group
	for i := range 2 {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}

// startPair starts the bare pods and waits for them.
func (b *bench) startPair(ctx context.Context) error {
	if err := b.apply(ctx, pairTemplate, map[string]any{"Image": b.image, "Pods": pair}); err != nil {
		return err
	}
	for _, name := range pair {
		err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
			pod := &corev1.Pod{}
			err := b.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, pod)
			return ready(pod), err
		})
		if err != nil {
			return fmt.Errorf("waiting for pod %s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) deletePair(ctx context.Context) error {
	for _, name := range pair {
		pod := &corev1.Pod{}
		pod.Name, pod.Namespace = name, b.namespace
		if err := b.Delete(ctx, pod); err != nil {
			return fmt.Errorf("deleting pod %s: %w", name, err)
		}
	}
	return nil
}

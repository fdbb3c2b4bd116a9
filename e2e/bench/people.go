package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

const (
	// crowd is how many clusters of one node many people ask for at once. Each has two pods.
	crowd = 20
	// restTime is long enough for a new cluster to have nothing left to do.
	restTime = 30 * time.Second
	// mostMemoryMB is how much an idle cluster with one node may keep resident.
	mostMemoryMB = 40
)

// smallSet is a node that sets aside hardly anything, so that many fit on a small machine.
func smallSet() v1alpha1.NodeSet {
	one, cpu, memory := int32(1), resource.MustParse("10m"), resource.MustParse("32Mi")
	return v1alpha1.NodeSet{Name: "cpu", Replicas: &one, Resources: v1alpha1.NodeResources{
		CPU: resource.MustParse("1"), Memory: resource.MustParse("512Mi"),
		Requests: v1alpha1.ResourceRequests{CPU: &cpu, Memory: &memory},
	}}
}

// class decides all of a cluster that people make with no word of their own.
func (b *bench) class() *v1alpha1.SlurmClusterClass {
	return &v1alpha1.SlurmClusterClass{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}, Spec: v1alpha1.SlurmClusterClassSpec{
		Defaults: v1alpha1.ClassDefaults{Image: b.image, NodeSets: []v1alpha1.NodeSet{smallSet()}},
	}}
}

func (b *bench) createClass(ctx context.Context) error { return b.Create(ctx, b.class()) }

// createOfClass is (i): what a person types whose administrator has made a class.
func (b *bench) createOfClass(ctx context.Context) error {
	_, err := kube.Local(ctx, nil, "kubectl", "create", "slurmcluster", "bench", "--namespace="+b.namespace, "--class="+b.namespace, "--wait")
	return err
}

func (b *bench) deleteOfClass(ctx context.Context) error {
	return errors.Join(b.deleteCluster(ctx), b.deleteClass(ctx))
}

func (b *bench) deleteClass(ctx context.Context) error { return b.Delete(ctx, b.class()) }

// createIdle makes a cluster that then has nothing to do.
func (b *bench) createIdle(ctx context.Context) error {
	if err := b.createClass(ctx); err != nil {
		return err
	}
	if err := b.createOfClass(ctx); err != nil {
		return err
	}
	return pause(ctx, firstSchedule)
}

// createCrowd is (j), or (m): clusters of one node, asked for at once, until the last one's first job is done.
func (b *bench) createCrowd(auth v1alpha1.AuthType) func(context.Context) error {
	return func(ctx context.Context) error { return b.awaitCrowd(ctx, auth) }
}

func (b *bench) awaitCrowd(ctx context.Context, auth v1alpha1.AuthType) error {
	watcher, err := b.Watch(ctx, &v1alpha1.SlurmClusterList{}, client.InNamespace(b.namespace))
	if err != nil {
		return fmt.Errorf("watching clusters: %w", err)
	}
	defer watcher.Stop()
	jobs, jobsCtx := errgroup.WithContext(ctx)
	for i := range crowd {
		jobs.Go(func() error {
			c := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("bench-%d", i)}}
			c.Spec.Image, c.Spec.NodeSets, c.Spec.Auth.Type = b.image, []v1alpha1.NodeSet{smallSet()}, auth
			return b.Create(jobsCtx, c)
		})
	}
	started := map[string]bool{}
	for len(started) < crowd {
		var event watch.Event
		select {
		case event = <-watcher.ResultChan():
		case <-jobsCtx.Done():
			return errors.Join(jobs.Wait(), fmt.Errorf("%d of %d clusters were ready", len(started), crowd))
		}
		c, ok := event.Object.(*v1alpha1.SlurmCluster)
		if !ok {
			return errors.Join(fmt.Errorf("the watch of clusters ended: %v", event.Object), jobs.Wait())
		}
		if !started[c.Name] && isReady(c) {
			started[c.Name] = true
			jobs.Go(func() error { return b.srun(jobsCtx, c.Name+"-controller-0") })
		}
	}
	return jobs.Wait()
}

func (b *bench) deleteCrowd(ctx context.Context) error {
	return b.DeleteAllOf(ctx, &v1alpha1.SlurmCluster{}, client.InNamespace(b.namespace))
}

// barePods is (k): as many bare pods as the clusters of (j) have, asked for at once, until all are ready.
func (b *bench) barePods(ctx context.Context) error {
	watcher, err := b.Watch(ctx, &corev1.PodList{}, client.InNamespace(b.namespace))
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	defer watcher.Stop()
	var manifest bytes.Buffer
	if err := bareTemplate.Execute(&manifest, map[string]any{"Image": b.image, "Bare": []string{"one", "two"}}); err != nil {
		return fmt.Errorf("filling in the manifest: %w", err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(manifest.Bytes(), pod); err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	creations, creationsCtx := errgroup.WithContext(ctx)
	for i := range 2 * crowd {
		one := pod.DeepCopy()
		one.Namespace, one.Name = b.namespace, fmt.Sprintf("bare-%d", i)
		creations.Go(func() error { return b.Create(creationsCtx, one) })
	}
	is := map[string]bool{}
	for len(is) < 2*crowd {
		var event watch.Event
		select {
		case event = <-watcher.ResultChan():
		case <-creationsCtx.Done():
			return errors.Join(creations.Wait(), fmt.Errorf("%d of %d pods were ready", len(is), 2*crowd))
		}
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return errors.Join(fmt.Errorf("the watch of pods ended: %v", event.Object), creations.Wait())
		}
		if ready(pod) {
			is[pod.Name] = true
		}
	}
	return creations.Wait()
}

func (b *bench) deleteBarePods(ctx context.Context) error {
	return b.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(b.namespace))
}

// processMemory prints two sums in KiB for all processes but its own: what each keeps resident, and that with each page divided
// among those who share it. The list is made before it starts more of them.
const processMemory = `set -- /proc/[0-9]*; for p; do [ $p = /proc/$$ ] || cat $p/smaps_rollup; done | sed -n 's/^\([RP]ss\): *\([0-9]*\) kB/\1 \2/p'`

// memory measures what an idle cluster with one node keeps resident. No other cluster may be there: it would share pages.
func (b *bench) memory(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nmemory of an idle cluster with one node\tresident\tsum over its processes\tat most")
	for _, auth := range []v1alpha1.AuthType{v1alpha1.AuthMunge, v1alpha1.AuthSlurm} {
		c := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "bench"}}
		c.Spec.Image, c.Spec.NodeSets, c.Spec.Auth.Type = b.image, []v1alpha1.NodeSet{smallSet()}, auth
		if err := b.Create(ctx, c); err != nil {
			return err
		}
		if err := b.awaitCluster(ctx, isReady); err != nil {
			return err
		}
		if err := pause(ctx, restTime); err != nil {
			return err
		}
		resident, sum, err := b.clusterMemory(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "auth.type: %s\t%d MB\t%d MB\t%d MB\n", auth, resident/1000, sum/1000, mostMemoryMB)
		if err := errors.Join(b.deleteCluster(ctx), b.awaitEmpty(ctx)); err != nil {
			return err
		}
	}
	return table.Flush()
}

// clusterMemory is what the cluster's processes keep resident in kB, each page counted once, and the sum in which each counts as
// often as it is mapped.
func (b *bench) clusterMemory(ctx context.Context) (resident, sum int, err error) {
	pods := &corev1.PodList{}
	if err := b.List(ctx, pods, client.InNamespace(b.namespace), client.HasLabels{contract.LabelCluster}); err != nil {
		return 0, 0, fmt.Errorf("listing the cluster's pods: %w", err)
	}
	for _, pod := range pods.Items {
		for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			where := kube.Container{Namespace: pod.Namespace, Pod: pod.Name, Name: container.Name}
			said, err := b.Exec(ctx, where, nil, "sh", "-c", processMemory)
			if err != nil {
				return 0, 0, err
			}
			for line := range strings.Lines(said) {
				kind, number, _ := strings.Cut(strings.TrimSpace(line), " ")
				kib, err := strconv.Atoi(number)
				if err != nil {
					return 0, 0, fmt.Errorf("the memory of a process of %s is %q: %w", where.Name, line, err)
				}
				if kind == "Pss" {
					resident += kib * 1024 / 1000
				} else {
					sum += kib * 1024 / 1000
				}
			}
		}
	}
	return resident, sum, nil
}

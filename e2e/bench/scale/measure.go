package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

func quantityOf(text string) resource.Quantity { return resource.MustParse(text) }

func cluster(namespace, name string, nodes int32) *v1alpha1.SlurmCluster {
	c := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "cpu", Replicas: ptr.To(nodes),
		Resources: v1alpha1.NodeResources{CPU: quantityOf("1"), Memory: quantityOf("1Gi")}}}
	return c
}

const (
	// readyLimit is how long all clusters may take to become ready: here, everything they need shares two cores.
	readyLimit = 20 * time.Minute
	// settleTime is how long after that the last cluster may take to come to rest: nothing has happened for half a minute then, which
	// the operator sees when it looks at it once more.
	settleTime = 90 * time.Second
)

// many measures an operator with many clusters that do nothing.
func (s *stage) many(ctx context.Context, clusters int, steady time.Duration) error {
	operator, err := startOperator(ctx, s.operator, "")
	if err != nil {
		return err
	}
	s.undo.Later(func(context.Context) error { return operator.stop() })
	var all errgroup.Group
	all.SetLimit(4)
	for i := range clusters {
		all.Go(func() error { return s.Create(ctx, cluster(namespaceMany, fmt.Sprintf("c%d", i), 4)) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, namespaceMany, clusters); err != nil {
		return err
	}
	if err := idle(ctx, settleTime)(); err != nil {
		return err
	}
	u, err := during(ctx, idle(ctx, steady))
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%d idle clusters: ", clusters)
	s.row(title+"CPU", "5 %", fmt.Sprintf("%.1f %% of a core", 100*u.cpu/steady.Seconds()))
	s.row(title+"writes in "+steady.String(), "0", fmt.Sprintf("%.0f", u.writes))
	s.row(title+"memory", "300 MB", fmt.Sprintf("%.0f MB", u.memory/1e6))
	took, err := s.firstObjects(ctx)
	if err != nil {
		return err
	}
	s.row(title+"all objects of one more", "1 s", fmt.Sprintf("%.2f s", took.Seconds()))
	return operator.stop()
}

// awaitReady waits until a number of clusters is ready.
func (s *stage) awaitReady(ctx context.Context, namespace string, clusters int) error {
	return await(ctx, namespace+" to be ready", readyLimit, func(ctx context.Context) (string, bool, error) {
		list := &v1alpha1.SlurmClusterList{}
		if err := s.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return "", false, err
		}
		ready, nodes := 0, int32(0)
		for i := range list.Items {
			nodes += ptr.Deref(list.Items[i].Status.ReadyNodes, 0)
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				ready++
			}
		}
		return fmt.Sprintf("%d of %d clusters, %d nodes", ready, clusters, nodes), ready >= clusters, nil
	})
}

// firstObjects is how long one more cluster takes until all its objects are there.
func (s *stage) firstObjects(ctx context.Context) (time.Duration, error) {
	const name = "one-more"
	began := time.Now()
	if err := s.Create(ctx, cluster(namespaceMany, name, 4)); err != nil {
		return 0, err
	}
	var left string
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, o := range []struct {
			name string
			client.Object
		}{
			{name + "-keys", &corev1.Secret{}}, {name + "-config", &corev1.ConfigMap{}}, {name + "-controller", &corev1.Service{}},
			{name + "-nodes", &corev1.Service{}}, {name + "-controller-0", &corev1.Pod{}}, {name, &networkingv1.NetworkPolicy{}},
			{name + "-cpu-0", &corev1.Pod{}}, {name + "-cpu-1", &corev1.Pod{}}, {name + "-cpu-2", &corev1.Pod{}}, {name + "-cpu-3", &corev1.Pod{}},
		} {
			if err := s.Get(ctx, client.ObjectKey{Namespace: namespaceMany, Name: o.name}, o.Object); err != nil {
				left = o.name
				return false, client.IgnoreNotFound(err)
			}
		}
		return true, nil
	})
	if err != nil {
		return 0, fmt.Errorf("waiting for %s: %w", left, err)
	}
	return time.Since(began), nil
}

// changes is how many pods are changed to find out what one costs.
const changes = 100

// changeEvery is the time between two changes, long enough for each to be looked at by itself.
const changeEvery = 250 * time.Millisecond

// large measures an operator with one large cluster.
func (s *stage) large(ctx context.Context, nodes int, steady time.Duration) error {
	operator, err := startOperator(ctx, s.operator, namespaceLarge)
	if err != nil {
		return err
	}
	s.undo.Later(func(context.Context) error { return operator.stop() })
	began := time.Now()
	if err := s.Create(ctx, cluster(namespaceLarge, "large", int32(nodes))); err != nil {
		return err
	}
	if err := s.awaitReady(ctx, namespaceLarge, 1); err != nil {
		return err
	}
	title := fmt.Sprintf("%d nodes: ", nodes)
	s.row(title+"ready after", "", fmt.Sprintf("%.0f s", time.Since(began).Seconds()))
	if err := idle(ctx, settleTime)(); err != nil {
		return err
	}
	still, err := during(ctx, idle(ctx, steady))
	if err != nil {
		return err
	}
	s.row(title+"CPU", "", fmt.Sprintf("%.1f %% of a core", 100*still.cpu/steady.Seconds()))
	s.row(title+"memory", "", fmt.Sprintf("%.0f MB", still.memory/1e6))
	cost, err := s.costOf(ctx, still.cpu/steady.Seconds(), changes, func(i int) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceLarge, Name: fmt.Sprintf("large-cpu-%d", i*nodes/changes)}}
		patch := fmt.Appendf(nil, `{"status":{"message":"change %d"}}`, i)
		return s.Status().Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch))
	})
	if err != nil {
		return err
	}
	s.row(title+"CPU for a change of one pod", "10 ms", fmt.Sprintf("%.1f ms", 1000*cost))
	cost, err = s.costOf(ctx, still.cpu/steady.Seconds(), losses, func(i int) error { return s.lose(ctx, i*nodes/losses) })
	if err != nil {
		return err
	}
	s.row(title+"CPU for a pod that is lost and replaced", "", fmt.Sprintf("%.1f ms", 1000*cost))
	return operator.stop()
}

// losses is how many pods are lost, one after the other.
const losses = 10

// lose deletes a pod and waits until another is in use in its place.
func (s *stage) lose(ctx context.Context, index int) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceLarge, Name: fmt.Sprintf("large-cpu-%d", index)}}
	node := fmt.Sprintf("cpu-%d", index)
	before := s.slurm.registrations(namespaceLarge, "large", node)
	if err := s.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.slurm.registrations(namespaceLarge, "large", node) > before && s.slurm.usable(namespaceLarge, "large", node), nil
	})
}

// costOf is the operator's CPU time for one of a number of things, in seconds, without what it uses anyway.
func (s *stage) costOf(ctx context.Context, anyway float64, times int, do func(int) error) (float64, error) {
	began := time.Now()
	u, err := during(ctx, func() error {
		for i := range times {
			if err := do(i); err != nil {
				return err
			}
			if err := idle(ctx, changeEvery)(); err != nil {
				return err
			}
		}
		return idle(ctx, time.Second)()
	})
	return (u.cpu - anyway*time.Since(began).Seconds()) / float64(times), err
}

//go:build e2e

package harness

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// Cluster is a SlurmCluster of a test.
type Cluster struct {
	*Env
	// Called is its name.
	Called string
}

// Change changes a cluster's spec.
type Change func(*v1alpha1.SlurmClusterSpec)

// Object is a small cluster that was not created yet: two nodes with a CPU and 512Mi each, which set aside
// hardly anything, so that many fit on a small machine.
func (e *Env) Object(name string, changes ...Change) *v1alpha1.SlurmCluster {
	c := &v1alpha1.SlurmCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.Namespace},
		Spec:       v1alpha1.SlurmClusterSpec{NodeSets: []v1alpha1.NodeSet{NodeSet("cpu", 2)}},
	}
	for _, change := range changes {
		change(&c.Spec)
	}
	return c
}

// NodeSet is a set of small nodes.
func NodeSet(name string, replicas int32) v1alpha1.NodeSet {
	cpu, memory := resource.MustParse("10m"), resource.MustParse("32Mi")
	return v1alpha1.NodeSet{Name: name, Replicas: &replicas, Resources: v1alpha1.NodeResources{
		CPU: resource.MustParse("1"), Memory: resource.MustParse("512Mi"),
		Requests: v1alpha1.ResourceRequests{CPU: &cpu, Memory: &memory},
	}}
}

// Create creates a cluster and does not wait for it.
func (e *Env) Create(name string, changes ...Change) *Cluster {
	e.Helper()
	require.NoError(e, e.Kube.Create(e.Ctx, e.Object(name, changes...)))
	return e.Cluster(name)
}

// Start creates a cluster and waits until it is ready.
func (e *Env) Start(name string, changes ...Change) *Cluster {
	e.Helper()
	c := e.Create(name, changes...)
	c.AwaitReady()
	return c
}

// Cluster is a cluster that exists already.
func (e *Env) Cluster(name string) *Cluster { return &Cluster{Env: e, Called: name} }

// Get reads the cluster.
func (c *Cluster) Get() *v1alpha1.SlurmCluster {
	c.Helper()
	o := &v1alpha1.SlurmCluster{}
	require.NoError(c, c.Kube.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Called}, o))
	return o
}

// Update changes the spec.
func (c *Cluster) Update(change Change) {
	c.Helper()
	require.NoError(c, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o := c.Get()
		change(&o.Spec)
		return c.Kube.Update(c.Ctx, o)
	}))
}

// Await waits until the cluster's status, when it is about the newest spec, is as check wants it.
func (c *Cluster) Await(what string, check func(*v1alpha1.SlurmCluster) bool) time.Duration {
	c.Helper()
	return c.Eventually(Patience, c.Called+": "+what, func() error {
		o := c.Get()
		if o.Status.ObservedGeneration == o.Generation && check(o) {
			return nil
		}
		return fmt.Errorf("the status is %s", Say(o))
	})
}

// AwaitReady waits until the cluster is ready.
func (c *Cluster) AwaitReady() time.Duration {
	c.Helper()
	return c.Await("ready", Ready)
}

// AwaitSettled waits until the cluster is ready and nothing is left to be done.
func (c *Cluster) AwaitSettled() time.Duration {
	c.Helper()
	return c.Await("settled", func(o *v1alpha1.SlurmCluster) bool {
		return Ready(o) && Is(o, v1alpha1.ConditionProgressing, metav1.ConditionFalse, "") &&
			Is(o, v1alpha1.ConditionDegraded, metav1.ConditionFalse, "")
	})
}

// AwaitDegraded waits until the cluster is degraded for a reason, with all words in the message.
func (c *Cluster) AwaitDegraded(reason string, words ...string) {
	c.Helper()
	c.Await("degraded because "+reason+" "+strings.Join(words, ", "), func(o *v1alpha1.SlurmCluster) bool {
		d := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionDegraded)
		if d == nil || d.Status != metav1.ConditionTrue || d.Reason != reason {
			return false
		}
		for _, w := range words {
			if !strings.Contains(d.Message, w) {
				return false
			}
		}
		return true
	})
}

// Ready tells whether a cluster is ready.
func Ready(o *v1alpha1.SlurmCluster) bool {
	return Is(o, v1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

// Is tells whether a condition has a status and, if one is given, a reason.
func Is(o *v1alpha1.SlurmCluster, kind string, status metav1.ConditionStatus, reason string) bool {
	is := meta.FindStatusCondition(o.Status.Conditions, kind)
	return is != nil && is.Status == status && (reason == "" || is.Reason == reason)
}

// Say puts a cluster's conditions into a line.
func Say(o *v1alpha1.SlurmCluster) string {
	parts := []string{fmt.Sprintf("generation %d of %d", o.Status.ObservedGeneration, o.Generation)}
	for _, is := range o.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s (%s: %s)", is.Type, is.Status, is.Reason, is.Message))
	}
	return strings.Join(parts, "; ")
}

// Controller is the container of slurmctld.
func (c *Cluster) Controller() kube.Container {
	return kube.Container{Namespace: c.Namespace, Pod: c.Called + "-controller-0", Name: contract.ContainerSlurmctld}
}

// Node is the container of a node's slurmd.
func (c *Cluster) Node(node string) kube.Container {
	return kube.Container{Namespace: c.Namespace, Pod: c.Called + "-" + node, Name: contract.ContainerSlurmd}
}

//go:build e2e

package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// set changes the first node set.
func set(change func(*v1alpha1.NodeSet)) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) { change(&s.NodeSets[0]) }
}

func evict(c *harness.Cluster, pod string) error {
	return c.Env.Set.CoreV1().Pods(c.Namespace).EvictV1(c.Ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: pod}})
}

// uid of a pod, empty if there is none.
func uid(c *harness.Cluster, pod string) string {
	o := &corev1.Pod{}
	if err := c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: pod}, o); err != nil {
		require.True(c, apierrors.IsNotFound(err), "%v", err)
		return ""
	}
	return string(o.UID)
}

// replaced waits until another pod has a pod's name.
func replaced(c *harness.Cluster, pod, before string) {
	c.Helper()
	c.Eventually(harness.Patience, "pod "+pod+" is replaced", func() error {
		if now := uid(c, pod); now == "" || now == before {
			return fmt.Errorf("its uid is %q, and was %q", now, before)
		}
		return nil
	})
}

// TestEviction: Kubernetes may take idle nodes and no busy ones. A pod that is deleted with notice lets its job end,
// and takes no other.
func TestEviction(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		job := c.Submit("until [ -e ~/go ]; do sleep .1; done; echo ended by itself", "-w", "cpu-0", "--no-requeue")
		c.AwaitJob(job, "RUNNING")
		c.Eventually(harness.Patience, "the busy node is protected", func() error {
			// Kubernetes counts the pods that a budget protects a moment after they were marked.
			if protected := e.Kubectl("get", "poddisruptionbudget", "demo-busy", "--ignore-not-found", "--output=jsonpath={.status.expectedPods}"); protected != "1" {
				return fmt.Errorf("%q pods are", protected)
			}
			return nil
		})
		err := evict(c, "demo-cpu-0")
		require.True(e, apierrors.IsTooManyRequests(err), "the eviction is answered with %v", err)
		idle, busy := uid(c, "demo-cpu-1"), uid(c, "demo-cpu-0")
		require.NoError(e, evict(c, "demo-cpu-1"))
		replaced(c, "demo-cpu-1", idle)
		c.AwaitSettled()

		c.Kubectl("delete", "pod", "demo-cpu-0", "--wait=false")
		c.AwaitSinfo("%N %T %E", "cpu-0 draining slurmcluster: its pod is going", "cpu-1 idle none")
		unharmed(c, job)
		c.RunOn("cpu-0", "touch", "go")
		replaced(c, "demo-cpu-0", busy)
		c.AwaitJob(job, "COMPLETED")
		c.AwaitSettled()
		require.Equal(e, "ok\nok", c.Run("srun", "-N2", "echo", "ok"))
	})
}

// TestGraceEnds: a job that does not end within the grace runs again elsewhere, at once.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo", set(func(n *v1alpha1.NodeSet) { n.TerminationGracePeriodSeconds = ptr.To[int64](3) }))
	job := c.Submit(`[ "${SLURM_RESTART_COUNT:-0}" = 0 ] && exec sleep 600; hostname`, "-N1")
	c.AwaitJob(job, "RUNNING")
	node := c.JobField(job, "NodeList")
	before := uid(c, "demo-"+node)
	c.Kubectl("delete", "pod", "demo-"+node, "--wait=false")
	took := c.AwaitJob(job, "COMPLETED")
	require.Equal(t, "1", c.JobField(job, "Restarts"))
	t.Logf("the job ran again %s after its pod was deleted with a grace of 3s", took.Round(10*time.Millisecond))
	replaced(c, "demo-"+node, before)
	c.AwaitSettled()
}

// TestScaleInSoonest: of busy nodes, the one leaves that will be free soonest.
func TestScaleInSoonest(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(3))
		var jobs []string
		for node, limit := range []string{"60", "5", "30"} {
			job := c.Submit("exec sleep 600", "-w", fmt.Sprintf("cpu-%d", node), "-t", limit)
			c.AwaitJob(job, "RUNNING")
			jobs = append(jobs, job)
		}
		c.Update(nodes(1))
		c.AwaitSinfo("%N %T", "cpu-0 allocated", "cpu-1 draining", "cpu-2 draining")
		c.Update(nodes(2))
		c.AwaitSinfo("%N %T", "cpu-0 allocated", "cpu-1 draining", "cpu-2 allocated")
		c.Run("scancel", jobs[1])
		c.AwaitSinfo("%N %T", "cpu-0 allocated", "cpu-2 allocated")
		unharmed(c, jobs[0])
		unharmed(c, jobs[2])
	})
}

// TestDrainTimeout: only where the user sets a limit, a job is ended for a change, and it is said which.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo", nodes(2), set(func(n *v1alpha1.NodeSet) { n.DrainTimeout = &metav1.Duration{Duration: 12 * time.Second} }))
	short, long := c.Submit("exec sleep 600", "-w", "cpu-0", "-t", "60"), c.Submit("exec sleep 600", "-w", "cpu-1", "-t", "5", "--job-name=train")
	c.AwaitJob(short, "RUNNING")
	c.AwaitJob(long, "RUNNING")
	record := c.Watch()
	c.Update(nodes(1))
	c.AwaitSinfo("%N %T", "cpu-0 allocated", "cpu-1 draining")
	unharmed(c, long)
	c.AwaitSinfo("%N %T", "cpu-0 allocated")
	require.Equal(t, "PENDING", c.JobField(long, "JobState"))
	unharmed(c, short)
	words := "job " + long + " (train of user)"
	told := c.AwaitEvent(v1alpha1.ReasonDrainTimedOut, "node cpu-1 was drained for 12s, which is its set's drainTimeout, and is taken from "+words)
	require.NotContains(t, told, "job "+short)
	require.True(t, record.Saw(func(o *v1alpha1.SlurmCluster) bool {
		return harness.Is(o, v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonDrainTimedOut)
	}), "the status names it: %v", record.Story())
}

// TestMaxUnavailable: a change of all nodes goes on with as many out at once as the user lets.
func TestMaxUnavailable(t *testing.T) {
	t.Parallel()
	c := harness.New(t).Start("demo", nodes(4), set(func(n *v1alpha1.NodeSet) { n.MaxUnavailable = ptr.To(intstr.FromString("50%")) }))
	record := c.Watch()
	c.Update(set(func(n *v1alpha1.NodeSet) { n.Features = []v1alpha1.Feature{"new"} }))
	took := c.AwaitSettled()
	require.Equal(t, "4", c.Run("sinfo", "--noheader", "--format=%D", "--nodes=cpu-[0-3]"))
	least := int32(4)
	record.Saw(func(o *v1alpha1.SlurmCluster) bool {
		least = min(least, *o.Status.ReadyNodes)
		return false
	})
	require.EqualValues(t, 2, least, "nodes in use during the update: %v", record.Story())
	t.Logf("4 nodes were replaced in %s, two at a time", took.Round(10*time.Millisecond))
}

// TestCordon: the nodes on a machine that is cordoned take no new jobs, and move when those that they have end. It
// needs a Kubernetes for itself.
func TestCordon(t *testing.T) {
	e := harness.New(t)
	if !hasExclusiveCPUs(e) {
		t.Skip("cordoning a machine would disturb other tests")
	}
	c := e.Start("demo")
	job := c.Submit("exec sleep 600", "-w", "cpu-0")
	c.AwaitJob(job, "RUNNING")
	machines, err := e.Set.CoreV1().Nodes().List(e.Ctx, metav1.ListOptions{})
	require.NoError(t, err)
	machine := machines.Items[0].Name
	busy, idle := uid(c, "demo-cpu-0"), uid(c, "demo-cpu-1")
	t.Cleanup(func() { e.Kubectl("uncordon", machine) })
	e.Kubectl("cordon", machine)
	c.AwaitSinfo("%N %T %E", "cpu-0 draining slurmcluster: its machine is cordoned")
	replaced(c, "demo-cpu-1", idle) // though there is no machine for it
	unharmed(c, job)
	require.Equal(t, busy, uid(c, "demo-cpu-0"))
	e.Kubectl("uncordon", machine)
	c.AwaitSettled()
	unharmed(c, job)
	require.Equal(t, busy, uid(c, "demo-cpu-0"), "its node was resumed")
	c.AwaitSinfo("%N %T", "cpu-0 allocated", "cpu-1 idle")
}

// TestYield: nodes of a low priority fill a machine. When an online service needs room, one of them takes no more jobs, lets
// the one that it has end, and goes; it comes back when there is room again. It needs a Kubernetes for itself.
func TestYield(t *testing.T) {
	e := harness.New(t)
	if !hasExclusiveCPUs(e) {
		t.Skip("filling a machine would disturb other tests")
	}
	low := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace + "-batch"}, Value: -10}
	require.NoError(t, e.Kube.Create(e.Ctx, low))
	t.Cleanup(func() { require.NoError(t, e.Delete(context.Background(), low)) })
	c := e.Start("demo", set(func(n *v1alpha1.NodeSet) {
		n.PriorityClassName, n.TerminationGracePeriodSeconds = low.Name, ptr.To[int64](120)
		n.Resources.Requests.CPU = ptr.To(resource.MustParse("600m"))
	}))
	jobs := map[string]string{}
	for _, node := range []string{"cpu-0", "cpu-1"} {
		jobs[node] = c.Submit("until [ -e ~/go ]; do sleep .1; done", "-w", node, "--no-requeue")
		c.AwaitJob(jobs[node], "RUNNING")
	}
	service := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "service"}, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: "service", Image: harness.Images(t)[0], Command: []string{"sleep", "600"},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}}
	require.NoError(t, e.Kube.Create(e.Ctx, service))
	yields := ""
	c.Eventually(harness.Patience, "one node yields", func() error {
		for _, line := range c.Sinfo("%N %T %E") {
			if node, ok := strings.CutSuffix(line, " draining slurmcluster: its pod is going"); ok {
				yields = node
				return nil
			}
		}
		return fmt.Errorf("sinfo says %s", c.Sinfo("%N %T %E"))
	})
	stays := map[string]string{"cpu-0": "cpu-1", "cpu-1": "cpu-0"}[yields]
	unharmed(c, jobs[yields])
	c.RunOn(yields, "touch", "go")
	c.AwaitJob(jobs[yields], "COMPLETED")
	require.Equal(t, "0", c.JobField(jobs[yields], "Restarts"))
	c.Eventually(harness.Patience, "the service runs", func() error {
		if err := e.Get(e.Ctx, client.ObjectKeyFromObject(service), service); err != nil || service.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s, %w", service.Status.Phase, err)
		}
		return nil
	})
	c.AwaitDegraded(v1alpha1.ReasonUnschedulable, "pod demo-"+yields)
	unharmed(c, jobs[stays])
	require.NoError(t, e.Delete(e.Ctx, service, client.GracePeriodSeconds(0)))
	c.AwaitSettled()
	unharmed(c, jobs[stays])
	require.Equal(t, yields, c.Run("srun", "hostname"))
}

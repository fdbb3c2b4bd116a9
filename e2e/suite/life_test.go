//go:build e2e

package suite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

func lifetime(ttl, idle time.Duration) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) {
		if ttl > 0 {
			s.Lifecycle.TTL = &metav1.Duration{Duration: ttl}
		}
		if idle > 0 {
			s.Lifecycle.IdleTimeout = &metav1.Duration{Duration: idle}
		}
	}
}

func suspended(is bool) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) { s.Suspend = is }
}

// awaitGone waits until nothing is left of a cluster.
func awaitGone(c *harness.Cluster) {
	c.Eventually(harness.Patience, "nothing is left", func() error {
		if left := leftovers(c); len(left) > 0 {
			return errLeft(left)
		}
		return nil
	})
}

// podsOf are the cluster's pods of a role.
func podsOf(c *harness.Cluster, role string) []corev1.Pod {
	list := &corev1.PodList{}
	require.NoError(c, c.List(c.Ctx, list, client.InNamespace(c.Namespace),
		client.MatchingLabels{contract.LabelCluster: c.Called, contract.LabelRole: role}))
	return list.Items
}

// TestTTL: a cluster ends at its time, also with a job and a shell in it, who hear of it before; more time is given in time.
func TestTTL(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Start("demo", nodes(1), lifetime(time.Hour, 0))
	created := c.Get().CreationTimestamp
	require.Equal(t, created.Add(time.Hour).Unix(), c.Get().Status.ExpiresAt.Unix())
	id := c.Submit("exec sleep 600")
	c.AwaitJob(id, "RUNNING")
	shell := make(chan string, 2)
	for _, command := range [][]string{{"script", "-qc", "sleep 600", "/dev/null"}, {"srun", "--overlap", "--jobid=" + id, "sleep", "600"}} {
		go func() {
			out, _ := c.Try(command...) // it ends with the cluster
			shell <- out
		}()
	}
	soon := (time.Since(created.Time) + 30*time.Second).Round(time.Second)
	c.Update(lifetime(soon, 0))
	c.Await("the new end", func(o *v1alpha1.SlurmCluster) bool { return o.Status.ExpiresAt.Time.Equal(created.Add(soon)) })
	awaitGone(c)
	late := time.Since(created.Add(soon))
	t.Logf("nothing is left %s after the end", late.Round(10*time.Millisecond))
	require.GreaterOrEqual(t, late, time.Duration(0))
	require.Less(t, late, deletionLimit)
	c.AwaitEvent(v1alpha1.ReasonEndsSoon, "because then its ttl of")
	c.AwaitEvent(v1alpha1.ReasonEnded, "1 of its jobs still ran")
	require.Contains(t, <-shell+<-shell, "kubectl slurmcluster extend demo 1h")
}

// TestIdleTimeout: jobs and shells keep a cluster; when the last is gone, it goes after a while.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	const idle = 40 * time.Second // a node tells of its shells every 10 s, and may be late on a busy machine
	c := e.Create("demo", nodes(1), lifetime(0, idle))
	c.AwaitReady()
	id := c.Submit("sleep 45")
	c.AwaitJob(id, "COMPLETED")
	c.Await("idle", func(o *v1alpha1.SlurmCluster) bool { return o.Status.IdleSince != nil })
	for _, where := range []kube.Container{c.Controller(), c.Node("cpu-0")} {
		_, err := c.Exec(e.Ctx, where, nil, "script", "-qc", "sleep 50", "/dev/null")
		require.NoError(t, err)
		require.Empty(t, c.Get().DeletionTimestamp, "a shell in %s keeps it", where.Pod)
	}
	left := time.Now()
	awaitGone(c)
	// The agent looks every 15 s whether somebody is there.
	require.GreaterOrEqual(t, time.Since(left), idle-16*time.Second)
	require.Less(t, time.Since(left), idle+15*time.Second+deletionLimit, "the operator asks every 15 s at least")
	c.AwaitEvent(v1alpha1.ReasonEnded, "it was idle for 40s")
}

// TestSuspend: a suspended cluster has no nodes and starts nothing; what waits in its queue runs when it is resumed.
func TestSuspend(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]harness.Change{
		"on a volume":  storage("100Mi", false),
		"in slurmctld": func(*v1alpha1.SlurmClusterSpec) {},
		"autoscaled":   scaled(0, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := harness.New(t)
			c := e.Start("demo", nodes(1), change, lifetime(0, 2*time.Minute))
			running, waiting := c.Submit("sleep 8; echo ran", "--no-requeue", "--exclusive"), c.Submit("hostname", "--exclusive")
			c.AwaitJob(running, "RUNNING")
			c.Update(suspended(true))
			require.True(e, c.Get().Spec.Suspend)
			c.Await("suspended", func(o *v1alpha1.SlurmCluster) bool {
				return harness.Is(o, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended) &&
					harness.Is(o, v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
			})
			t.Log(harness.Say(c.Get()))
			require.Empty(t, podsOf(c, contract.RoleSlurmd))
			onVolume := c.Get().Spec.Controller.Storage != nil
			require.Equal(t, onVolume, len(podsOf(c, contract.RoleController)) == 0)
			require.Nil(t, c.Get().Status.ExpiresAt, "who suspends a cluster wants it back")
			if !onVolume {
				require.Equal(t, "COMPLETED", c.JobField(running, "JobState"))
				require.Equal(t, "PENDING", c.JobField(waiting, "JobState"))
				waiting = c.Submit("hostname") // is taken, too
			}
			c.Update(suspended(false))
			c.AwaitReady()
			c.AwaitJob(waiting, "COMPLETED")
			c.AwaitSettled()
		})
	}
}

// TestAllOrNothing: while a quota has no room for all nodes, there are none, and no job starts on some; then there are all.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}},
	}
	require.NoError(t, e.Kube.Create(e.Ctx, quota))
	c := e.Create("demo", nodes(3), func(s *v1alpha1.SlurmClusterSpec) { s.AllOrNothing = true })
	c.AwaitDegraded(v1alpha1.ReasonPodsRefused, "all 3 nodes or none, as asked", "exceeded quota: few")
	c.Await("no nodes", func(*v1alpha1.SlurmCluster) bool { return len(podsOf(c, contract.RoleSlurmd)) == 0 })
	c.Await("slurmctld answers", func(cluster *v1alpha1.SlurmCluster) bool { return cluster.Status.SlurmVersion != "" })
	require.Equal(t, "IDLE 0", c.Run("bash", "-c", "echo IDLE $(sinfo --noheader --states=idle --format=%n | wc -l)"))
	before := quota.DeepCopy()
	quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("9")
	require.NoError(t, e.Patch(e.Ctx, quota, client.MergeFrom(before)))
	c.AwaitReady()
	require.True(t, c.Get().Status.Gathered)
	require.Len(t, podsOf(c, contract.RoleSlurmd), 3)
	require.NotEmpty(t, c.Run("srun", "-N3", "hostname"))
}

// TestQuotaForSome: where a quota has room for some pods only, slurmctld is among them, and the message says what is missing.
func TestQuotaForSome(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	require.NoError(t, e.Kube.Create(e.Ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}},
	}))
	c := e.Create("demo", nodes(3))
	c.AwaitDegraded(v1alpha1.ReasonPodsRefused, "exceeded quota: few")
	c.Await("two nodes", func(o *v1alpha1.SlurmCluster) bool { return o.Status.ReadyNodes != nil && *o.Status.ReadyNodes == 2 })
	require.NotEmpty(t, c.Run("srun", "-N2", "hostname"))
}

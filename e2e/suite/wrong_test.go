//go:build e2e

package suite

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestImageMissing: an image that does not exist is named, and the right one heals.
func TestImageMissing(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Create("demo", nodes(1), useImage("localhost/slurmcluster/no-such-image:v1"))
	c.AwaitDegraded(v1alpha1.ReasonImageUnavailable, "localhost/slurmcluster/no-such-image:v1")
	_, err := e.TryKubectl(nil, "create", "slurmcluster", "other", "--image=localhost/slurmcluster/no-such-image:v1", "--wait")
	require.ErrorContains(t, err, "no-such-image:v1", "the plugin does not wait for ever")
	c.Update(useImage(harness.Images(t)[0]))
	c.AwaitSettled()
	require.Equal(t, "ok", c.Run("srun", "echo", "ok"))
}

// TestVolumeMissing: what a volume refers to and is not there is named, and heals when it is made.
func TestVolumeMissing(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	files := &corev1.ConfigMap{Data: map[string]string{"hello": "from a ConfigMap"}}
	files.Name, files.Namespace = "files", e.Namespace
	for name, c := range map[string]struct {
		change harness.Change
		kind   string
		o      client.Object
	}{
		"map":   {volume("/data", true, false), "ConfigMap", files},
		"claim": {volume("/data", false, true), "PersistentVolumeClaim", claim(e, "files")},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := e.Sub(t).Create(name, nodes(1), c.change)
			cluster.AwaitDegraded(v1alpha1.ReasonVolumeUnavailable, c.kind, `"files"`, "create it or change the name")
			require.NoError(t, e.Kube.Create(e.Ctx, c.o))
			cluster.AwaitSettled()
			cluster.Run("srun", "ls", "/data")
		})
	}
}

// TestConfigTypo: a key that slurm.conf does not know never reaches slurmctld.
func TestConfigTypo(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Create("demo", nodes(1), config("SchedulerParameter", "bf_interval=5"))
	c.AwaitDegraded(v1alpha1.ReasonInvalidConfig, `"SchedulerParameter" is not a parameter of slurm.conf; did you mean SchedulerParameters?`)
	require.Zero(t, restarts(c))
	c.Update(config("SchedulerParameters", "bf_interval=5"))
	c.AwaitSettled()

	c.Update(config("SchedulerParameter", "bf_interval=9"))
	c.AwaitDegraded(v1alpha1.ReasonInvalidConfig, "did you mean SchedulerParameters?")
	require.Equal(t, "ok", c.Run("srun", "echo", "ok"), "the running cluster goes on")
	c.Update(config("SchedulerParameters", "bf_interval=5"))
	c.AwaitSettled()
}

// TestConfigValue: slurmctld keeps its last good configuration when it cannot use a new one. The first value
// is one that every command of Slurm refuses, the second one that only slurmctld does.
func TestConfigValue(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use)
		id := c.Submit("exec sleep 600", "-w", "cpu-0")
		c.AwaitJob(id, "RUNNING")
		for _, wrong := range []harness.Change{config("SlurmctldTimeout", "soon"), config("PriorityType", "priority/none-such")} {
			c.Update(wrong)
			c.AwaitDegraded(v1alpha1.ReasonInvalidConfig, "slurmctld keeps its last good configuration")
			e.Log(harness.Say(c.Get()))
			require.Equal(e, "ok", c.Run("srun", "-w", "cpu-1", "echo", "ok"))
			unharmed(c, id)
			c.Update(config("SlurmctldTimeout", "40"))
			c.AwaitSettled()
			require.Regexp(e, `SlurmctldTimeout +=.* 40 sec`, c.Run("scontrol", "show", "config"))
			unharmed(c, id)
		}
	})
}

// TestConfigValueAtFirst: a new cluster has no good configuration to keep. It says what is wrong.
func TestConfigValueAtFirst(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Create("demo", use, nodes(1), config("SlurmctldTimeout", "soon"))
		c.AwaitDegraded(v1alpha1.ReasonInvalidConfig, "SlurmctldTimeout", "soon")
		e.Log(harness.Say(c.Get()))
		c.Update(config("SlurmctldTimeout", "40"))
		c.AwaitSettled()
		require.Equal(e, "ok", c.Run("srun", "echo", "ok"))
	})
}

// TestQuota: a namespace that has no room for pods says so, in the API server's words.
func TestQuota(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
	quota.Name, quota.Namespace = "no-pods", e.Namespace
	require.NoError(t, e.Kube.Create(e.Ctx, quota))
	e.Eventually(harness.Patience, "the quota counts", func() error {
		require.NoError(t, e.Get(e.Ctx, client.ObjectKeyFromObject(quota), quota))
		if len(quota.Status.Hard) == 0 {
			return errors.New("it has no status")
		}
		return nil
	})
	c := e.Create("demo", nodes(1))
	c.AwaitDegraded(v1alpha1.ReasonPodsRefused, "exceeded quota: no-pods")
	require.NoError(t, e.Delete(e.Ctx, quota))
	c.AwaitSettled()
}

// TestNameTaken: an object of somebody else is neither used nor harmed.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	theirs := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	theirs.Name, theirs.Namespace = "demo-controller", e.Namespace
	require.NoError(t, e.Kube.Create(e.Ctx, theirs))
	c := e.Create("demo", nodes(1))
	c.AwaitDegraded(v1alpha1.ReasonNameConflict, "Service", "demo-controller", "does not belong to this cluster; delete it, or give the cluster another name")
	is := &corev1.Service{}
	require.NoError(t, e.Get(e.Ctx, client.ObjectKeyFromObject(theirs), is))
	require.Equal(t, theirs.ResourceVersion, is.ResourceVersion)
	require.NoError(t, e.Delete(e.Ctx, theirs))
	c.AwaitSettled()
}

// restarts counts how often containers of the cluster were started again.
func restarts(c *harness.Cluster) int32 {
	c.Helper()
	pods := &corev1.PodList{}
	require.NoError(c, c.List(c.Ctx, pods, client.InNamespace(c.Namespace)))
	var n int32
	for i := range pods.Items {
		for _, s := range harness.Statuses(&pods.Items[i]) {
			n += s.RestartCount
		}
	}
	return n
}

func claim(e *harness.Env, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.Namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Mi")}},
		},
	}
}

// errLeft says what is left.
func errLeft(names []string) error { return errors.New("left: " + strings.Join(names, ", ")) }

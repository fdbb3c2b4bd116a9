//go:build e2e

package suite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// deletionLimit is well below the 30 s that the pods of a node have, so that none of them may have waited for its jobs. How
// long a deletion takes is not measured here.
const deletionLimit = 15 * time.Second

// TestFirstCluster is the road of the README, and alone on the machine, because deletion is timed.
func TestFirstCluster(t *testing.T) {
	for _, image := range harness.Images(t) {
		t.Run(image[strings.LastIndexByte(image, ':')+1:], func(t *testing.T) {
			e := harness.New(t)
			said := e.Kubectl("create", "slurmcluster", "demo", "--nodes", "2", "--cpus", "1", "--memory", "512Mi",
				"--cpu-request", "10m", "--memory-request", "32Mi", "--image", image, "--wait")
			require.Contains(t, said, "slurmcluster.slurmcluster.dev/demo created\n")
			require.Regexp(t, `slurmcluster.slurmcluster.dev/demo ready: 2 nodes, 2 CPUs, in [0-9.]+s\n`, said)
			t.Log(said)
			c := e.Cluster("demo")
			shape(c)
			require.Equal(t, "cpu-0", c.Run("srun", "-w", "cpu-0", "hostname"))
			columns(c)
			counts(c)
			secret(c)
			remove(c)
		})
	}
}

// shape: Slurm has what the kernel grants and no more.
func shape(c *harness.Cluster) {
	require.Equal(c, []string{"cpu-0 idle 1", "cpu-1 idle 1"}, c.Sinfo("%N %t %c"))
	for _, memory := range c.Sinfo("%m") {
		require.Regexp(c, `^4[0-9]{2}$`, memory, "less than 512 MB, and not much less")
	}
	require.Equal(c, "main*", c.Run("sinfo", "--noheader", "--format=%P"))
}

func columns(c *harness.Cluster) {
	table := strings.Split(strings.TrimSpace(c.Kubectl("get", "slurmclusters")), "\n")
	require.Len(c, table, 2)
	require.Equal(c, []string{"NAME", "READY", "NODES", "RUNNING", "PENDING", "AGE"}, strings.Fields(table[0]))
	require.Regexp(c, `^demo +True +2 +0 +0 +[0-9]+s$`, table[1])
	c.Kubectl("wait", "slurmcluster/demo", "--for=condition=Ready", "--timeout=5s")
	require.Contains(c, c.Kubectl("slurmcluster", "status", "demo"), "cpu-0")
}

// counts: the status follows jobs within the operator's period of asking.
func counts(c *harness.Cluster) {
	running, waiting := c.Submit("exec sleep 600"), c.Submit("echo done", "-N2")
	c.AwaitJob(running, "RUNNING")
	c.Await("one job running, one waiting", func(o *v1alpha1.SlurmCluster) bool {
		set := o.Status.NodeSets[0]
		return o.Status.Jobs == v1alpha1.JobCounts{Running: 1, Pending: 1} &&
			set == v1alpha1.NodeSetStatus{Name: "cpu", Wanted: 2, Ready: 2, Idle: 1, Allocated: 1}
	})
	c.Run("scancel", running)
	c.AwaitJob(waiting, "COMPLETED")
	o := c.Get()
	require.EqualValues(c, 2, *o.Status.CPUs)
	require.Regexp(c, `^[0-9.]+$`, o.Status.SlurmVersion)
	require.Contains(c, c.Run("sinfo", "--version"), o.Status.SlurmVersion)
	require.Regexp(c, `:6817$`, o.Status.Endpoints.Slurmctld)
}

// secret: keys are the cluster's own.
func secret(c *harness.Cluster) {
	o := &corev1.Secret{}
	require.NoError(c, c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: "demo-keys"}, o))
	require.GreaterOrEqual(c, len(o.Data[contract.KeyMunge]), 32)
	require.GreaterOrEqual(c, len(o.Data[contract.KeyJWT]), 32)
}

// remove deletes the cluster, while a job runs, and sees that nothing is left.
func remove(c *harness.Cluster) {
	c.AwaitJob(c.Submit("exec sleep 600"), "RUNNING")
	start := time.Now()
	c.Kubectl("slurmcluster", "delete", "demo")
	took := time.Since(start)
	require.Empty(c, leftovers(c))
	c.Logf("deleted in %s", took.Round(10*time.Millisecond))
	require.Less(c, took, deletionLimit)
}

// leftovers are the names of all objects in the namespace that a cluster could have left.
func leftovers(c *harness.Cluster) []string {
	var names []string
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
		&corev1.PersistentVolumeClaimList{}, &policyv1.PodDisruptionBudgetList{},
		&networkingv1.NetworkPolicyList{}, &v1alpha1.SlurmClusterList{},
	} {
		require.NoError(c, c.List(c.Ctx, list, client.InNamespace(c.Namespace)))
		require.NoError(c, eachItem(list, func(o client.Object) {
			if o.GetName() != "kube-root-ca.crt" {
				names = append(names, fmt.Sprintf("%T %s", o, o.GetName()))
			}
		}))
	}
	return names
}

// TestDeletedPiecesComeBack: what somebody deletes from under a cluster is made again.
func TestDeletedPiecesComeBack(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	c := e.Start("demo", nodes(1))
	for _, o := range []client.Object{&corev1.ConfigMap{}, &corev1.Pod{}, &networkingv1.NetworkPolicy{}, &corev1.Secret{}} {
		o.SetNamespace(e.Namespace)
		o.SetName(map[string]string{
			"*v1.ConfigMap": "demo-config", "*v1.Pod": "demo-controller-0", "*v1.NetworkPolicy": "demo", "*v1.Secret": "demo-keys",
		}[fmt.Sprintf("%T", o)])
		require.NoError(t, e.Delete(e.Ctx, o, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		e.Eventually(harness.Patience, o.GetName()+" comes back", func() error {
			again := o.DeepCopyObject().(client.Object)
			if err := e.Get(e.Ctx, client.ObjectKeyFromObject(o), again); err != nil {
				return err
			}
			if again.GetDeletionTimestamp() != nil {
				return errors.New("it is still being deleted")
			}
			return nil
		})
	}
	c.AwaitSettled()
	require.Equal(t, "cpu-0", c.Run("srun", "hostname"))
}

// TestServices: slurmctld's Service has its pod, and nodes have DNS names in the headless one.
func TestServices(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	e.Start("demo", nodes(1))
	e.Eventually(harness.Patience, "endpoints of both Services", func() error {
		slices := &discoveryv1.EndpointSliceList{}
		require.NoError(t, e.List(e.Ctx, slices, client.InNamespace(e.Namespace)))
		hosts := map[string]bool{}
		for _, s := range slices.Items {
			for _, endpoint := range s.Endpoints {
				if endpoint.Hostname != nil {
					hosts[s.Labels[discoveryv1.LabelServiceName]+"/"+*endpoint.Hostname] = true
				}
			}
		}
		if !hosts["demo-nodes/cpu-0"] || !hosts["demo-nodes/demo-controller-0"] {
			return fmt.Errorf("only %v", hosts)
		}
		return nil
	})
}

// TestGoneWithNamespace: a namespace with a running cluster can be deleted.
func TestGoneWithNamespace(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	e.Start("demo", nodes(1))
	namespace := &corev1.Namespace{}
	namespace.Name = e.Namespace
	require.NoError(t, e.Delete(e.Ctx, namespace))
	e.Eventually(harness.Patience, "the namespace is gone", func() error {
		err := e.Get(e.Ctx, client.ObjectKeyFromObject(namespace), namespace)
		if err == nil {
			err = fmt.Errorf("it is there: %+v", namespace.Status)
		}
		return client.IgnoreNotFound(err)
	})
}

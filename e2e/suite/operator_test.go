//go:build e2e

package suite

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// quietFor is how long a steady cluster is watched for.
const quietFor = time.Minute

// TestQuiet: a steady cluster costs no writes and hardly any CPU. It runs alone.
func TestQuiet(t *testing.T) {
	e := harness.New(t)
	c := e.Start("demo")
	c.AwaitSettled()
	require.NoError(t, harness.AwaitRemoval(removalLimit, e.Namespace), "the clusters of the tests before are gone")
	e.Eventually(harness.Patience, "the event that follows the status was sent", func() error {
		if told := e.Kubectl("get", "events", "--field-selector=reason="+v1alpha1.ReasonReady, "--output=name"); told == "" {
			return errors.New("there is none")
		}
		return nil
	})
	versions, before := resourceVersions(c), e.Metrics()
	timer := time.NewTimer(quietFor) // the minute is what is measured
	<-timer.C
	after := e.Metrics()
	require.Equal(t, versions, resourceVersions(c), "objects were written")

	grown := func(name string, labels ...string) float64 {
		return harness.Sum(after, name, labels...) - harness.Sum(before, name, labels...)
	}
	for _, method := range []string{"POST", "PATCH", "DELETE"} {
		require.Zero(t, grown("rest_client_requests_total", `method="`+method+`"`),
			"requests %s; these clusters were there too: %s", method, e.Kubectl("get", "slurmclusters", "--all-namespaces"))
	}
	renewals := grown("rest_client_requests_total", `method="PUT"`)
	require.LessOrEqual(t, renewals, quietFor.Seconds()/2+2, "the lease of the leader is renewed every 2 s, nothing else is put")
	cpu := grown("process_cpu_seconds_total") / quietFor.Seconds()
	t.Logf("in %s: %.2f %% of a CPU, %v renewals of the lease, %v reads", quietFor, 100*cpu, renewals,
		grown("rest_client_requests_total", `method="GET"`))
	require.Less(t, cpu, 0.01, "part of a CPU that the operator takes")
	require.Zero(t, grown("controller_runtime_reconcile_errors_total"))
}

// resourceVersions of all that belongs to the cluster, with whoever wrote last: a write changes one. What the
// kubelet writes about its pods is not the operator's doing.
func resourceVersions(c *harness.Cluster) map[string]string {
	c.Helper()
	versions := map[string]string{}
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
		&corev1.EventList{}, &v1alpha1.SlurmClusterList{},
	} {
		require.NoError(c, c.List(c.Ctx, list, client.InNamespace(c.Namespace)))
		require.NoError(c, eachItem(list, func(o client.Object) {
			if writer := lastWriter(o); !strings.HasPrefix(writer, "kubelet") {
				versions[fmt.Sprintf("%T %s", o, o.GetName())] = o.GetResourceVersion() + " by " + writer
			}
		}))
	}
	return versions
}

// settledVersions are the resourceVersions once the operator has written all that it has to say of what just happened.
func settledVersions(c *harness.Cluster) map[string]string {
	c.Helper()
	const quiet = 2 * time.Second
	versions, since := resourceVersions(c), time.Now()
	c.Eventually(harness.Patience, "nothing is written any more", func() error {
		if now := resourceVersions(c); !maps.Equal(versions, now) {
			versions, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errors.New("something was written")
		}
		return nil
	})
	return versions
}

// lastWriter is who wrote an object last, and when.
func lastWriter(o client.Object) string {
	var last metav1.ManagedFieldsEntry
	for _, entry := range o.GetManagedFields() {
		if last.Time == nil || entry.Time != nil && !entry.Time.Before(last.Time) {
			last = entry
		}
	}
	return fmt.Sprintf("%s %s at %s", last.Manager, last.Subresource, last.Time)
}

// TestOperatorKilled kills the operator while a cluster starts: the next one goes on where it stood. It runs
// alone, because all clusters wait meanwhile.
func TestOperatorKilled(t *testing.T) {
	e := harness.New(t)
	steady := e.Start("steady", nodes(1))
	id := steady.Submit("exec sleep 600")
	steady.Await("a job running", func(o *v1alpha1.SlurmCluster) bool { return o.Status.Jobs.Running == 1 })
	versions := settledVersions(steady)
	starting := e.Create("starting")
	pod := e.Operator()
	e.KillIn(pod, pod.Spec.Containers[0].Name, "operator")
	took := starting.AwaitReady()
	t.Logf("a cluster that was starting is ready %s after the operator was killed", took.Round(time.Millisecond))
	require.Equal(t, "ok\nok", starting.Run("srun", "-N2", "echo", "ok"))
	unharmed(steady, id)
	after := resourceVersions(steady)
	for what, version := range after {
		if before, was := versions[what]; was {
			require.Equal(t, before, version, "%s was written by the new operator", what)
		}
	}
	e.Eventually(harness.Patience, "the operator runs again", func() error {
		again := &corev1.Pod{}
		require.NoError(t, e.Get(e.Ctx, client.ObjectKeyFromObject(pod), again))
		if s := again.Status.ContainerStatuses[0]; !s.Ready || s.RestartCount == pod.Status.ContainerStatuses[0].RestartCount {
			return fmt.Errorf("its container is %+v", s)
		}
		return nil
	})
}

// TestInstallAgain repeats the installation as it is: nothing changes. It runs alone.
func TestInstallAgain(t *testing.T) {
	e := harness.New(t)
	before := e.Operator()
	said := e.Install(before.Namespace)
	require.Contains(t, said, "operator")
	after := e.Operator()
	require.Equal(t, before.Name, after.Name, "the operator's pod was replaced: %s", said)
	require.Equal(t, before.Status.ContainerStatuses[0].RestartCount, after.Status.ContainerStatuses[0].RestartCount)
}

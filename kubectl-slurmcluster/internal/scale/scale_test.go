package scale

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

func fixed(*v1alpha1.SlurmCluster) {}

func autoscaled(c *v1alpha1.SlurmCluster) {
	c.Spec.NodeSets[0].Replicas = nil
	c.Spec.NodeSets[0].Autoscale = &v1alpha1.Autoscale{Min: 1, Max: 10}
}

func several(c *v1alpha1.SlurmCluster) {
	c.Spec.NodeSets = append(c.Spec.NodeSets, v1alpha1.NodeSet{Name: "gpu"})
}

func suspended(c *v1alpha1.SlurmCluster) { c.Spec.Suspend = true }

func TestScale(t *testing.T) {
	for args, test := range map[string]struct {
		cluster func(*v1alpha1.SlurmCluster)
		want    string // the sets, in a line
		out     string
	}{
		"demo 4":                 {fixed, "cpu=4", "slurmcluster.slurmcluster.dev/demo scaled\n"},
		"demo 0 -o name":         {fixed, "cpu=0", "slurmcluster.slurmcluster.dev/demo\n"},
		"demo 3 --node-set gpu":  {several, "cpu=2 gpu=3", "slurmcluster.slurmcluster.dev/demo scaled\n"},
		"demo --min 0":           {autoscaled, "cpu=0-10", "slurmcluster.slurmcluster.dev/demo scaled\n"},
		"demo --min 12 --max 20": {autoscaled, "cpu=12-20", "slurmcluster.slurmcluster.dev/demo scaled\n"},
		"demo 4 --wait":          {suspended, "cpu=4", "slurmcluster.slurmcluster.dev/demo scaled\ndemo is suspended; it has its nodes after: kubectl slurmcluster resume demo -n team-a\n"},
		"demo 5 --node-set=cpu":  {fixed, "cpu=5", "slurmcluster.slurmcluster.dev/demo scaled\n"},
		"demo --max 3 -o jsonpath={.spec.nodeSets[0].autoscale.max}": {autoscaled, "cpu=1-3", "3"},
	} {
		t.Run(args, func(t *testing.T) {
			w := clitest.New(t, nil, []runtime.Object{clitest.Cluster(test.cluster)})
			require.NoError(t, clitest.Run(t, Command(w.Env), strings.Fields(args)...))
			assert.Equal(t, test.want, sets(w.Get(t)))
			assert.Equal(t, test.out, w.Out.String())
		})
	}
}

func sets(cluster *v1alpha1.SlurmCluster) string {
	var words []string
	for _, set := range cluster.Spec.NodeSets {
		word := set.Name
		if set.Replicas != nil {
			word += fmt.Sprintf("=%d", *set.Replicas)
		}
		if set.Autoscale != nil {
			word += fmt.Sprintf("=%d-%d", set.Autoscale.Min, set.Autoscale.Max)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestRefused(t *testing.T) {
	for args, test := range map[string]struct {
		cluster func(*v1alpha1.SlurmCluster)
		want    string
	}{
		"demo":                  {fixed, "give the number of nodes, such as: kubectl slurmcluster scale demo 4"},
		"demo many":             {fixed, `"many" is not a number of nodes; give one from 0 to 5000`},
		"demo 5001":             {fixed, "give one from 0 to 5000"},
		"demo 4 --node-set gpu": {fixed, `demo has no node set "gpu"; it has: cpu`},
		"demo --min 4":          {fixed, "node set cpu is not autoscaled; give the number of its nodes: kubectl slurmcluster scale demo 4 --node-set cpu"},
		"demo 4":                {several, "demo has several node sets; choose one with --node-set: cpu, gpu"},
		"demo 4 -n team-a":      {autoscaled, "unknown shorthand flag"},
		"demo 5":                {autoscaled, "node set cpu is autoscaled and has 1 to 10 nodes, as jobs need them; change that with --min and --max"},
		"demo --node-set cpu":   {autoscaled, "change that with --min and --max"},
		"demo --min 11":         {autoscaled, "node set cpu cannot have 11 to 10 nodes"},
		"demo --max 0 --min 0":  {autoscaled, "--max at least 1"},
		"demo 4 -o table":       {fixed, "allowed formats are"},
		"other 4":               {fixed, `there is no SlurmCluster "other" in namespace "team-a"`},
	} {
		t.Run(args, func(t *testing.T) {
			w := clitest.New(t, nil, []runtime.Object{clitest.Cluster(test.cluster)})
			before := w.Get(t)
			assert.ErrorContains(t, clitest.Run(t, Command(w.Env), strings.Fields(args)...), test.want)
			assert.Equal(t, before, w.Get(t), "nothing is changed")
		})
	}
}

// Somebody else changes the object between our reading and our writing.
func TestConflict(t *testing.T) {
	w := clitest.New(t, nil, []runtime.Object{clitest.Cluster()})
	refused := 0
	w.Fake.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		assert.Contains(t, string(action.(clienttesting.PatchAction).GetPatch()), `"path":"/metadata/resourceVersion"`)
		if refused++; refused > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{}, "demo", nil)
	})
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "4"))
	assert.Equal(t, "cpu=4", sets(w.Get(t)))
}

func TestWait(t *testing.T) {
	w := clitest.New(t, nil, []runtime.Object{clitest.Cluster()})
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "it is so"}
	}
	go func() {
		<-w.Watched
		cluster, nodes, cpus := w.Get(t), int32(1), int32(2)
		ready := condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady)
		cluster.Status.ReadyNodes, cluster.Status.CPUs, cluster.Status.ObservedGeneration = &nodes, &cpus, 1
		cluster.Status.Conditions = []metav1.Condition{ready, condition(v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonWaitingForJobs)}
		w.Set(t, cluster)
		cluster = cluster.DeepCopy()
		cluster.Status.Conditions = []metav1.Condition{ready, condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)}
		w.Set(t, cluster)
	}()
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "1", "--wait"))
	assert.Regexp(t, `^slurmcluster.slurmcluster.dev/demo scaled\nslurmcluster.slurmcluster.dev/demo ready: 1 node, 2 CPUs, in 0\.\ds\n$`, w.Out.String())
	assert.Contains(t, w.ErrOut.String(), "demo: WaitingForJobs: it is so\n")
}

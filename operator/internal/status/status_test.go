package status

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// ready is a cluster of two nodes that works.
func ready(change ...func(*Observation)) Observation {
	o := Observation{
		Cluster: &v1alpha1.SlurmCluster{
			ObjectMeta: metav1.ObjectMeta{Generation: 4},
			Spec:       v1alpha1.SlurmClusterSpec{NodeSets: []v1alpha1.NodeSet{{Name: "cpu", Replicas: ptr.To[int32](2)}}},
		},
		Pods: []Pod{
			{Set: "cpu", Serving: true, Node: &slurm.Node{Name: "cpu-0", State: []string{"IDLE", "DYNAMIC_NORM"}, CPUs: 2}},
			{Set: "cpu", Serving: true, Node: &slurm.Node{Name: "cpu-1", State: []string{"MIXED", "DYNAMIC_NORM"}, CPUs: 4}},
		},
		Known: true, ControllerRan: true, Version: "24.11.5",
		Jobs:          []slurm.Job{{State: []string{"RUNNING"}}, {State: []string{"PENDING"}}, {State: []string{"COMPLETED"}}, {State: []string{"COMPLETED", "COMPLETING"}}},
		RunningConfig: "a", WantedConfig: "a",
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func TestMakeReady(t *testing.T) {
	s := Make(ready())
	assert.Equal(t, int64(4), s.ObservedGeneration)
	assert.Equal(t, []int32{2, 2, 6}, []int32{*s.Nodes, *s.ReadyNodes, *s.CPUs})
	assert.Equal(t, []v1alpha1.NodeSetStatus{{Name: "cpu", Wanted: 2, Ready: 2, Idle: 1, Allocated: 1}}, s.NodeSets)
	assert.Equal(t, v1alpha1.JobCounts{Running: 2, Pending: 1}, s.Jobs)
	assert.Equal(t, "24.11.5", s.SlurmVersion)
	assert.Equal(t, "slurmctld answers; 2 nodes with 6 CPUs", meta.FindStatusCondition(s.Conditions, "Ready").Message)
}

func TestConditions(t *testing.T) {
	node := func(state ...string) func(*Observation) {
		return func(o *Observation) { o.Pods[0].Node.State = state }
	}
	tests := []struct {
		name                         string
		change                       func(*Observation)
		ready, progressing, degraded string // the reason where the condition is true, "!" and the reason where not
	}{
		{"ready", func(*Observation) {}, "Ready", "!AsExpected", "!AsExpected"},
		{"starting", func(o *Observation) { o.Known, o.ControllerRan = false, false }, "!Starting", "Starting", "!AsExpected"},
		{"slurmctld gone", func(o *Observation) { o.Known = false }, "!ControllerUnavailable", "ControllerUnavailable", "ControllerUnavailable"},
		{"node drained", node("IDLE", "DRAIN"), "!NodesNotReady", "NodesNotReady", "!AsExpected"},
		{"node down", node("DOWN"), "!NodesNotReady", "NodesNotReady", "!AsExpected"},
		{"node unknown", node("UNKNOWN"), "!NodesNotReady", "NodesNotReady", "!AsExpected"},
		{"munged gone", func(o *Observation) { o.Pods[0].Serving = false }, "!NodesNotReady", "NodesNotReady", "!AsExpected"},
		{"config on its way", func(o *Observation) { o.WantedConfig = "b" }, "!ApplyingConfig", "ApplyingConfig", "!AsExpected"},
		{"config refused", func(o *Observation) {
			o.WantedConfig = "b"
			o.Problems = []Problem{{v1alpha1.ReasonInvalidConfig, "x"}}
		}, "!InvalidConfig", "InvalidConfig", "InvalidConfig"},
		{"config refused by us", func(o *Observation) { o.Problems = []Problem{{v1alpha1.ReasonInvalidConfig, "x"}} }, "Ready", "!AsExpected", "InvalidConfig"},
		{"image", func(o *Observation) {
			o.Pods = nil
			o.Problems = []Problem{{v1alpha1.ReasonImageUnavailable, "x"}}
		}, "!ImageUnavailable", "ImageUnavailable", "ImageUnavailable"},
		{"works", func(o *Observation) { o.Working = &Problem{v1alpha1.ReasonUpdating, "x"} }, "Ready", "Updating", "!AsExpected"},
		{"suspended, with nodes", func(o *Observation) { o.Cluster.Spec.Suspend = true }, "!Suspended", "Suspended", "!AsExpected"},
		{"suspended", func(o *Observation) { o.Cluster.Spec.Suspend, o.Pods = true, nil }, "!Suspended", "!AsExpected", "!AsExpected"},
		{"suspended, slurmctld going", func(o *Observation) {
			o.Cluster.Spec.Suspend, o.Pods, o.Cluster.Spec.Controller.Storage = true, nil, &v1alpha1.ControllerStorage{}
		}, "!Suspended", "Suspended", "!AsExpected"},
		{"suspended, slurmctld gone", func(o *Observation) {
			o.Cluster.Spec.Suspend, o.Pods, o.Cluster.Spec.Controller.Storage = true, nil, &v1alpha1.ControllerStorage{}
			o.Known, o.Off = false, true
		}, "!Suspended", "!AsExpected", "!AsExpected"},
		{"waits for jobs", func(o *Observation) { o.Waiting = &Problem{v1alpha1.ReasonWaitingForJobs, "x"} }, "Ready", "WaitingForJobs", "!AsExpected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Make(ready(tt.change))
			for kind, want := range map[string]string{"Ready": tt.ready, "Progressing": tt.progressing, "Degraded": tt.degraded} {
				c := meta.FindStatusCondition(s.Conditions, kind)
				require.NotNil(t, c)
				have := c.Reason
				if c.Status != metav1.ConditionTrue {
					have = "!" + have
				}
				assert.Equal(t, want, have, kind)
				assert.NotEmpty(t, c.Message)
			}
		})
	}
}

// What is not known stays as it was last known.
func TestUnknownKeepsCounts(t *testing.T) {
	o := ready(func(o *Observation) { o.Known = false })
	o.Cluster.Status = Make(ready())
	s := Make(o)
	assert.Equal(t, v1alpha1.JobCounts{Running: 2, Pending: 1}, s.Jobs)
	assert.Equal(t, int32(0), *s.ReadyNodes)
	assert.Equal(t, "24.11.5", s.SlurmVersion)
}

// A surplus node does not make a set more than ready.
func TestSurplusNode(t *testing.T) {
	s := Make(ready(func(o *Observation) { o.Cluster.Spec.NodeSets[0].Replicas = ptr.To[int32](1) }))
	assert.Equal(t, []int32{1, 1}, []int32{*s.Nodes, *s.ReadyNodes})
}

func TestDownAndDrainingAreCounted(t *testing.T) {
	s := Make(ready(func(o *Observation) {
		o.Pods[0].Node.State = []string{"DOWN"}
		o.Pods[1].Node.State = []string{"MIXED", "DRAIN"}
	}))
	assert.Equal(t, []v1alpha1.NodeSetStatus{{Name: "cpu", Wanted: 2, Down: 1, Draining: 1}}, s.NodeSets)
	assert.Equal(t, "Slurm can use 0 of 2 nodes", meta.FindStatusCondition(s.Conditions, "Ready").Message)
}

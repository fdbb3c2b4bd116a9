package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/nodeplan"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}
}

func terminated(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.Unix(1000, 0)}}
}

func podWith(container string, now, last corev1.ContainerState) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Labels = "demo-cpu-0", map[string]string{contract.LabelNode: "cpu-0"}
	status := corev1.ContainerStatus{Name: container, Image: "example.org/x", State: now, LastTerminationState: last}
	if container == contract.ContainerMunged {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{status}
	} else {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	}
	return pod
}

func TestPodProblems(t *testing.T) {
	never := corev1.ContainerState{}
	tests := []struct {
		name         string
		pod          *corev1.Pod
		reason, text string
	}{
		{"runs", podWith(contract.ContainerSlurmd, running(), never), "", ""},
		{"runs again", podWith(contract.ContainerSlurmd, running(), terminated(1, "x")), "", ""},
		{"is being made", podWith(contract.ContainerSlurmd, waiting("ContainerCreating"), never), "", ""},
		{"image", podWith(contract.ContainerSlurmd, waiting("ImagePullBackOff"), never), v1alpha1.ReasonImageUnavailable, "example.org/x"},
		{"cannot start", podWith(contract.ContainerSlurmd, waiting("CreateContainerConfigError"), never), v1alpha1.ReasonContainerFailing, "cannot start: why"},
		{"ended", podWith(contract.ContainerMunged, terminated(137, ""), never), v1alpha1.ReasonContainerFailing, "exit code 137"},
		{"loops", podWith(contract.ContainerSlurmd, waiting("CrashLoopBackOff"), terminated(1, "a\nbroken")), v1alpha1.ReasonContainerFailing, "broken"},
		{"unusable", podWith(contract.ContainerSlurmd, waiting("CrashLoopBackOff"), terminated(contract.ExitUnusable, "a\nno usable node")), v1alpha1.ReasonNodeUnusable, "no usable node"},
		{"bad configuration", podWith(contract.ContainerSlurmctld, waiting("CrashLoopBackOff"), terminated(contract.ExitConfig, "line 3")), v1alpha1.ReasonInvalidConfig, "line 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := podProblems(tt.pod, time.Unix(2000, 0))
			if tt.reason == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			assert.Equal(t, tt.reason, found[0].Reason)
			assert.Contains(t, found[0].Message, tt.text)
		})
	}
}

// The kubelet may start a container again before it tells of its end; the status tells it for a while.
func TestRecentEnd(t *testing.T) {
	pod := podWith(contract.ContainerSlurmctld, running(), terminated(137, "x"))
	assert.Len(t, podProblems(pod, time.Unix(1005, 0)), 1)
	assert.Empty(t, podProblems(pod, time.Unix(1011, 0)))
}

func TestUnschedulable(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes"}}
	require.Len(t, podProblems(pod, time.Unix(2000, 0)), 1)
	pod.DeletionTimestamp = &metav1.Time{}
	assert.Empty(t, podProblems(pod, time.Unix(2000, 0)), "a pod that goes has no problems")
}

// A pod serves unless one of its containers, its munged included, has ended and does not run again.
func TestServes(t *testing.T) {
	never := corev1.ContainerState{}
	assert.True(t, serves(podWith(contract.ContainerSlurmd, waiting("ContainerCreating"), never)), "the kubelet is slower than slurmctld")
	assert.True(t, serves(podWith(contract.ContainerMunged, running(), terminated(137, ""))))
	assert.False(t, serves(podWith(contract.ContainerMunged, terminated(137, ""), never)))
	assert.False(t, serves(podWith(contract.ContainerSlurmd, waiting("CrashLoopBackOff"), terminated(1, ""))))
}

func TestLost(t *testing.T) {
	r := &Reconciler{}
	s := &scope{Reconciler: r, known: true, memory: r.memories.of(types.NamespacedName{Name: "a"}, "1")}
	s.slurmNodes = []slurm.Node{{Name: "cpu-0", State: []string{"ALLOCATED"}}}
	s.index()
	pod := &slurmdPod{Pod: podWith(contract.ContainerSlurmd, running(), terminated(137, ""))}
	s.slurmdPods = []*slurmdPod{pod}
	lost := func() bool {
		pod.facts = read(pod.Pod)
		s.meet()
		return s.lost(pod)
	}
	pod.Status.ContainerStatuses[0].RestartCount = 3
	assert.False(t, lost(), "ends before the operator came are not told")

	pod.Status.ContainerStatuses[0].RestartCount = 4
	assert.True(t, lost(), "it ended and runs again, between two looks")
	s.remember(nodeplan.Step{Action: nodeplan.Down}, pod)
	assert.False(t, lost(), "slurmctld was told")

	pod.Status.ContainerStatuses[0].State = terminated(137, "")
	assert.True(t, lost())
	s.slurmNodes[0].State = []string{"DOWN"}
	assert.False(t, lost(), "slurmctld knows")
	s.slurmNodes[0].State = []string{"IDLE"}
	assert.False(t, lost(), "slurmctld knew")
}

func TestOverdue(t *testing.T) {
	now := time.Unix(5000, 0)
	r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(now)}
	s := &scope{Reconciler: r, known: true, memory: r.memories.of(types.NamespacedName{Name: "a"}, "1")}
	pod := &slurmdPod{Pod: podWith(contract.ContainerSlurmd, running(), corev1.ContainerState{})}
	pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(now.Add(-time.Minute))
	pod.facts, s.slurmdPods = read(pod.Pod), []*slurmdPod{pod}

	s.memory.knownSince = now
	assert.False(t, s.overdue(pod), "slurmctld has only just answered")
	s.memory.knownSince = now.Add(-time.Minute)
	assert.True(t, s.overdue(pod))
	s.memory.knownSince = now
	s.slurmNodes = []slurm.Node{{Name: "cpu-0"}}
	s.index()
	s.meet()
	s.overdue(pod)
	s.slurmNodes = nil
	s.index()
	s.meet()
	assert.True(t, s.overdue(pod), "slurmctld has known it before")
}

func TestPodChanged(t *testing.T) {
	was := podWith(contract.ContainerSlurmd, running(), corev1.ContainerState{})
	for what, tt := range map[string]struct {
		change func(*corev1.Pod)
		counts bool
	}{
		"nothing":               {func(*corev1.Pod) {}, false},
		"somebody's annotation": {func(p *corev1.Pod) { p.Annotations = map[string]string{"example.org/x": "1"} }, false},
		"an annotation of ours": {func(p *corev1.Pod) { p.Annotations = map[string]string{contract.AnnotationGres: "gpu"} }, true},
		"a label":               {func(p *corev1.Pod) { p.Labels = map[string]string{} }, true},
		"a container":           {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount++ }, true},
		"its deletion":          {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		"its machine":           {func(p *corev1.Pod) { p.Spec.NodeName = "a" }, true},
		"another pod":           {func(p *corev1.Pod) { p.UID = "b" }, true},
	} {
		is := was.DeepCopy()
		tt.change(is)
		assert.Equal(t, tt.counts, podChanged.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}), what)
	}
}

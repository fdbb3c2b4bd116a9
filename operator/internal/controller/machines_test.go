package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestMachines(t *testing.T) {
	node := &corev1.Node{}
	require.Equal(t, machine{}, machineOf(node))
	node.Spec.Unschedulable = true
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionUnknown}, {Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	require.Equal(t, machine{cordoned: true, unreachable: true}, machineOf(node))

	r := &Reconciler{}
	require.True(t, r.machines.set("a", machineOf(node)))
	require.False(t, r.machines.set("a", machineOf(node)), "no news")
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}}
	require.Equal(t, machine{cordoned: true, unreachable: true}, r.machineFor(pod))
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	require.True(t, r.machineFor(pod).cordoned)
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	require.False(t, r.machineFor(pod).cordoned, "one that tolerates the cordon would only come back")
	require.True(t, r.machines.set("a", machine{}))
	require.Empty(t, r.machines.all, "usual machines need no memory")
	require.Equal(t, machine{}, r.machineFor(pod))
}

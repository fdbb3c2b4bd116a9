package nodes

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podReport is what Kubernetes says about a node's pod.
type podReport struct {
	Name    string      `json:"name"`
	Phase   string      `json:"phase"`
	Host    string      `json:"host,omitempty"`
	Address string      `json:"address,omitempty"`
	Created metav1.Time `json:"created"`
	// Leaving is true while the pod is being deleted.
	Leaving bool `json:"leaving,omitempty"`
	// Problem is why it has no place or does not start.
	Problem    string            `json:"problem,omitempty"`
	Containers []containerReport `json:"containers"`
}

type containerReport struct {
	Name     string `json:"name"`
	Ready    bool   `json:"ready"`
	Restarts int32  `json:"restarts"`
	// Ended is its last end, if it has ended.
	Ended *endReport `json:"lastEnd,omitempty"`
}

type endReport struct {
	Time     metav1.Time `json:"time"`
	Reason   string      `json:"reason"`
	ExitCode int32       `json:"exitCode"`
	Message  string      `json:"message,omitempty"`
}

func podReportOf(pod *corev1.Pod) *podReport {
	r := &podReport{
		Name: pod.Name, Phase: string(pod.Status.Phase), Host: pod.Spec.NodeName, Address: pod.Status.PodIP,
		Created: pod.CreationTimestamp, Leaving: pod.DeletionTimestamp != nil, Containers: []containerReport{},
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			r.Problem = fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := c.State.Waiting; waiting != nil && waiting.Message != "" {
			r.Problem = cmp.Or(r.Problem, fmt.Sprintf("%s: %s", waiting.Reason, waiting.Message))
		}
		report := containerReport{Name: c.Name, Ready: c.Ready, Restarts: c.RestartCount}
		if end := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated); end != nil {
			report.Ended = &endReport{Time: end.FinishedAt, Reason: end.Reason, ExitCode: end.ExitCode, Message: end.Message}
		}
		r.Containers = append(r.Containers, report)
	}
	return r
}

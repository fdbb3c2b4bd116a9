package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// watchSizes looks at how large the slurmd pods are. When the kubelet has resized one in place, slurmctld is asked
// often for some time, because the node will soon say on itself what it would like to be.
func (s *scope) watchSizes(context.Context) error {
	for _, pod := range s.slurmdPods {
		if pod.sized {
			if pod.sizeSeen && pod.lastSize != pod.size {
				s.memory.sizeChanged = s.Clock.Now()
			}
			pod.lastSize, pod.sizeSeen = pod.size, true
		}
		if c := pod.resizePending; c != nil {
			s.waiting = &status.Problem{Reason: v1alpha1.ReasonUpdating,
				Message: fmt.Sprintf("the resize of node %s waits for Kubernetes (%s): %s", pod.name(), c.Reason, c.Message)}
		}
		if node := pod.node; node != nil && node.Unusable() {
			s.problem(v1alpha1.ReasonNodeUnusable, "node "+node.Name+" "+node.Wish())
		}
	}
	return nil
}

// size is what a kubelet has given a container.
type size struct{ milliCPU, bytes int64 }

// sizeOf is what the kubelet has given slurmd's container; known is false if it has not told.
func sizeOf(pod *corev1.Pod) (given size, known bool) {
	c := containerStatus(pod, contract.ContainerSlurmd)
	if c == nil || c.Resources == nil {
		return size{}, false
	}
	return size{c.Resources.Limits.Cpu().MilliValue(), c.Resources.Limits.Memory().Value()}, true
}

// growPatience is how long a node that could be larger may wait for a moment without jobs before it takes no more of
// them.
const growPatience = 5 * time.Minute

func (s *scope) impatient(pod *slurmdPod) bool {
	if node := pod.node; node == nil || !node.Grows() {
		pod.growing = time.Time{}
		return false
	}
	if pod.growing.IsZero() {
		pod.growing = s.Clock.Now()
	}
	return s.Clock.Since(pod.growing) > growPatience
}

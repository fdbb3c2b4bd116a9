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
		node := pod.Labels[contract.LabelNode]
		s.watchSize(pod)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue {
				s.waiting = &status.Problem{Reason: v1alpha1.ReasonUpdating,
					Message: fmt.Sprintf("the resize of node %s waits for Kubernetes (%s): %s", node, c.Reason, c.Message)}
			}
		}
		if at := s.slurmNode(node); at >= 0 && s.slurmNodes[at].Unusable() {
			s.problem(v1alpha1.ReasonNodeUnusable, "node "+node+" "+s.slurmNodes[at].Wish())
		}
	}
	return nil
}

// size is what a kubelet has given a container.
type size struct{ milliCPU, bytes int64 }

func (s *scope) watchSize(pod *corev1.Pod) {
	c := containerStatus(pod, contract.ContainerSlurmd)
	if c == nil || c.Resources == nil {
		return
	}
	size := size{c.Resources.Limits.Cpu().MilliValue(), c.Resources.Limits.Memory().Value()}
	if before, seen := s.memory.sizes[pod.UID]; seen && before != size {
		s.memory.sizeChanged = s.Clock.Now()
	}
	s.memory.sizes[pod.UID] = size
}

// growPatience is how long a node that could be larger may wait for a moment without jobs before it takes no more of
// them.
const growPatience = 5 * time.Minute

func (s *scope) impatient(pod *corev1.Pod) bool {
	at := s.slurmNode(pod.Labels[contract.LabelNode])
	if at < 0 || !s.slurmNodes[at].Grows() {
		delete(s.memory.growing, pod.UID)
		return false
	}
	since, waits := s.memory.growing[pod.UID]
	if !waits {
		s.memory.growing[pod.UID] = s.Clock.Now()
	}
	return waits && s.Clock.Since(since) > growPatience
}

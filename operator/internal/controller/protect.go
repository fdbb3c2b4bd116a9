package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// protectTime is how long a node stays protected after its last job. A stream of short jobs does not become a stream of
// writes.
const protectTime = 10 * time.Second

// protectBusy makes the PodDisruptionBudget, which protects the pods that are marked, once there is one to protect: a cluster
// that people wait for does not wait for it.
func (s *scope) protectBusy(ctx context.Context) error {
	if s.budget.UID == "" && !slices.ContainsFunc(s.slurmdPods, func(pod *slurmdPod) bool { return pod.busy || pod.node != nil && pod.node.Busy() }) {
		return nil
	}
	return s.writer.Apply(ctx, s.cluster, desired.Budget(s.want), s.budget)
}

// markBusy marks the pods of busy nodes.
func (s *scope) markBusy(ctx context.Context) error {
	if !s.known {
		return nil
	}
	for _, pod := range s.slurmdPods {
		node := pod.node
		if node == nil || pod.DeletionTimestamp != nil || node.Is("UNKNOWN") {
			continue // after a start of slurmctld, it soon knows
		}
		busy := node.Busy()
		if busy == pod.busy || !busy && s.Clock.Since(node.LastBusy.Time()) <= protectTime {
			continue
		}
		if err := s.mark(ctx, pod.Pod, busy); err != nil {
			return err
		}
	}
	return nil
}

// mark says on a pod whether its node is busy.
func (s *scope) mark(ctx context.Context, pod *corev1.Pod, busy bool) error {
	return s.change(ctx, pod, func(changed *corev1.Pod) {
		if busy {
			metav1.SetMetaDataLabel(&changed.ObjectMeta, contract.LabelBusy, "true")
		} else {
			delete(changed.Labels, contract.LabelBusy)
		}
	})
}

package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// Busy nodes are protected from protectAfter on, and stay so for protectTime after their last job. A stream of short jobs does not
// become a stream of writes.
const (
	protectAfter = 2 * time.Second
	protectTime  = 10 * time.Second
)

// protectBusy makes the PodDisruptionBudget, which protects the pods that are marked. People who wait for a new cluster do not
// wait for it: it is made when the first pod is to be marked.
func (s *scope) protectBusy(ctx context.Context) error {
	return s.writer.Apply(ctx, s.cluster, desired.Budget(s.want), s.budget)
}

// markBusy marks the pods of busy nodes.
func (s *scope) markBusy(ctx context.Context) error {
	if s.budget.UID != "" {
		if err := s.protectBusy(ctx); err != nil {
			return err
		}
	}
	if !s.known {
		return nil
	}
	now := s.Clock.Now()
	for _, pod := range s.slurmdPods {
		node := pod.node
		if node == nil || pod.DeletionTimestamp != nil || node.Is("UNKNOWN") {
			continue // after a start of slurmctld, it soon knows
		}
		busy := node.Busy()
		switch {
		case !busy:
			pod.busySince = time.Time{}
		case pod.busySince.IsZero():
			pod.busySince = now
		}
		switch {
		case busy == pod.busy, !busy && now.Sub(node.LastBusy.Time()) <= protectTime:
			continue
		case busy && now.Sub(pod.busySince) < protectAfter:
			s.awaits = true
			continue
		case busy:
			if err := s.protectBusy(ctx); err != nil {
				return err
			}
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

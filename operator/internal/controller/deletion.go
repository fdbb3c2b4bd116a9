package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// hasten ends the pods of a cluster that was deleted sooner than their grace would. Kubernetes deletes
// them with their owner anyway; nobody needs what they would still save, but for a volume that stays.
func (r *Reconciler) hasten(ctx context.Context, name client.ObjectKey) error {
	r.memories.forget(name)
	r.writer.ForgetCluster(name)
	pods, err := r.Pods.of(name)
	if err != nil {
		return fmt.Errorf("listing the pods of deleted SlurmCluster %s: %w", name, err)
	}
	for _, pod := range pods {
		if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds <= 1 || keepsState(pod) {
			continue
		}
		if err := r.Client.Delete(ctx, pod, client.GracePeriodSeconds(1), client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting pod %s of deleted SlurmCluster %s: %w", pod.Name, name, err)
		}
	}
	return nil
}

// keepsState tells whether a pod writes slurmctld's state to a claim, which may outlive the cluster.
func keepsState(pod *corev1.Pod) bool {
	for _, v := range pod.Spec.Volumes {
		if v.Name == desired.StateVolume && v.PersistentVolumeClaim != nil {
			return true
		}
	}
	return false
}

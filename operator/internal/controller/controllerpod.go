package controller

import (
	"context"
	"fmt"
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// replaceController deletes the controller pod when it was made from an older spec, as soon as nothing is
// lost by it. The StatefulSet then makes it anew.
func (s *scope) replaceController(ctx context.Context) error {
	pod := s.controllerPod
	switch {
	case s.controller.Status.ObservedGeneration != s.controller.Generation:
		s.workOn("the controller's StatefulSet has changed")
		return nil
	case pod == nil || !s.controllerOutdated():
		return nil
	case pod.DeletionTimestamp != nil:
		s.workOn("the controller pod is going")
		return nil
	}
	if why := s.whyControllerStays(); why != "" {
		s.waiting = &status.Problem{Reason: v1alpha1.ReasonWaitingForJobs, Message: why}
		return nil
	}
	s.workOn("the controller pod is being replaced, because the spec has changed")
	s.log(ctx).Info("Replacing the controller pod", "pod", pod.Name, "reason", "made from an older spec")
	return s.deletePod(ctx, pod)
}

// controllerOutdated tells whether the controller pod is not what the StatefulSet wants now.
func (s *scope) controllerOutdated() bool {
	set := s.controller
	return set.Status.UpdateRevision != "" &&
		s.controllerPod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision
}

// whyControllerStays says what would be lost with the controller pod now; empty if nothing.
func (s *scope) whyControllerStays() string {
	switch {
	case !everRan(s.controllerPod, contract.ContainerSlurmctld), s.cluster.Spec.Controller.Storage != nil:
		return ""
	case !s.known:
		return "a change of the controller pod waits until slurmctld answers, to see whether jobs would be lost"
	case slices.ContainsFunc(s.slurmJobs, func(j slurm.Job) bool { return j.Running() || j.Pending() }):
		return "a change of the controller pod waits until the queue is empty: the cluster has no controller.storage, so jobs would be lost with the pod"
	}
	return ""
}

// switchOff lets slurmctld of a suspended cluster end once it is not needed: no node is left, and its queue is on a volume.
func (s *scope) switchOff(context.Context) error {
	spec, seen := &s.cluster.Spec, &s.memory.answers
	if !spec.Suspend || spec.Controller.Storage == nil || len(s.slurmdPods) > 0 {
		return nil
	}
	idle := !seen.asked.IsZero() && len(seen.slurmNodes) == 0 && !slices.ContainsFunc(seen.slurmJobs, slurm.Job.Running)
	wasOff := s.controller.Spec.Replicas != nil && *s.controller.Spec.Replicas == 0
	s.want.ControllerOff = idle || wasOff
	return nil
}

// off tells whether slurmctld is switched off.
func (s *scope) off() bool { return s.want.ControllerOff && s.controllerPod == nil }

// refreshConfig sees to it that slurmctld gets a new configuration in seconds. The kubelet refreshes
// mounted files within a minute or so, but at once when an annotation of the pod changes.
func (s *scope) refreshConfig(ctx context.Context) error {
	pod := s.controllerPod
	switch {
	case !s.known || pod == nil || s.configHash == "" || s.agent.RunningHash == s.configHash:
		return nil
	case s.agent.RejectedHash == s.configHash:
		s.problem(v1alpha1.ReasonInvalidConfig, "slurmctld keeps its last good configuration, because: "+s.agent.Reason)
		return nil
	case pod.Annotations[contract.AnnotationConfigHash] == s.configHash:
		return nil
	}
	s.acted = true
	return s.annotate(ctx, pod, contract.AnnotationConfigHash, s.configHash)
}

// annotate annotates a pod, which also makes its kubelet refresh what the pod mounts at once.
func (s *scope) annotate(ctx context.Context, pod *corev1.Pod, key, value string) error {
	return s.change(ctx, pod, func(changed *corev1.Pod) { metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value) })
}

// change changes a pod that is there, and nothing of one that has gone.
func (s *scope) change(ctx context.Context, pod *corev1.Pod, change func(*corev1.Pod)) error {
	changed := pod.DeepCopy()
	change(changed)
	if err := s.Client.Patch(ctx, changed, client.MergeFrom(pod)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing pod %s: %w", pod.Name, err)
	}
	return nil
}

// everRan tells whether a container of a pod runs or has run.
func everRan(pod *corev1.Pod, container string) bool {
	c := containerStatus(pod, container)
	return c != nil && (c.State.Running != nil || c.State.Terminated != nil || c.RestartCount > 0 || c.LastTerminationState.Terminated != nil)
}

// runs tells whether a container of a pod runs.
func runs(pod *corev1.Pod, container string) bool {
	c := containerStatus(pod, container)
	return c != nil && c.State.Running != nil
}

func containerStatus(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for c := range containerStatuses(pod) {
		if c.Name == container {
			return c
		}
	}
	return nil
}

// containerStatuses are those of all containers; munged is a native sidecar, which Kubernetes lists among
// the init containers.
func containerStatuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// deletePod deletes exactly this pod, not a successor of its name, and one that never ran only if that is still so.
func (s *scope) deletePod(ctx context.Context, pod *corev1.Pod) error {
	s.acted = true
	same := client.Preconditions{UID: &pod.UID}
	if pod.Labels[contract.LabelRole] == contract.RoleSlurmd && !everRan(pod, contract.ContainerSlurmd) {
		same.ResourceVersion = &pod.ResourceVersion
	}
	err := s.Client.Delete(ctx, pod, same)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
	}
	return nil
}

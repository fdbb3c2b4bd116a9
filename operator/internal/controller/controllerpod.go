package controller

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// ensureController sees to it that there is a controller pod, once there is a configuration to start with, or none where
// slurmctld is switched off.
func (s *scope) ensureController(ctx context.Context) error {
	pod := s.controllerPod
	there := pod != nil && pod.DeletionTimestamp == nil
	switch {
	case s.configHash == "":
		return nil
	case s.want.ControllerOff && there:
		s.log(ctx).Info("Deleting the controller pod", "pod", pod.Name, "reason", "the cluster is suspended")
		return s.deletePod(ctx, pod)
	case s.want.ControllerOff:
		return nil
	case there && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded):
		s.log(ctx).Info("Deleting the controller pod", "pod", pod.Name, "reason", "it has ended: "+cmp.Or(pod.Status.Message, pod.Status.Reason))
		return s.deletePod(ctx, pod)
	case pod != nil:
		return nil
	}
	if ok, err := s.ensureState(ctx); !ok || err != nil {
		return err
	}
	return s.createController(ctx)
}

func (s *scope) createController(ctx context.Context) error {
	err := s.writer.Create(ctx, s.cluster, desired.ControllerPod(s.want), &corev1.Pod{})
	switch {
	case err == nil:
		s.acted = true
	case refuses(err):
		s.problem(v1alpha1.ReasonPodsRefused, "Kubernetes refuses the controller pod: "+plain(err))
		s.memory.gathering.controllerRefused = true
		return nil
	}
	return err
}

// replaceController deletes the controller pod when it was made from an older spec, as soon as nothing is lost by it. The next
// look makes it anew.
func (s *scope) replaceController(ctx context.Context) error {
	pod := s.controllerPod
	switch {
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

// controllerOutdated tells whether the controller pod is not what is wanted now.
func (s *scope) controllerOutdated() bool {
	return s.controllerPod.Annotations[contract.AnnotationTemplateHash] != desired.ControllerHash(s.want)
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
	ready := meta.FindStatusCondition(s.cluster.Status.Conditions, v1alpha1.ConditionReady)
	wasOff := s.controllerPod == nil && ready != nil && ready.Reason == v1alpha1.ReasonSuspended
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

// containerStatuses are those of all containers but of one that has done what it was for; munged is a native sidecar, which
// Kubernetes lists among the init containers.
func containerStatuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range list {
				if end := list[i].State.Terminated; end != nil && end.ExitCode == 0 && list[i].Name == contract.ContainerBundle {
					continue
				}
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

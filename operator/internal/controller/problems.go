package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// findPodProblems says what keeps pods from running, each kind once.
func (s *scope) findPodProblems(context.Context) error {
	var found []status.Problem
	if s.controllerPod != nil {
		found = append(found, podProblems(s.controllerPod, s.Clock.Now())...)
	}
	if s.versionPod != nil && s.versionPod.Status.Phase == corev1.PodPending {
		found = append(found, podProblems(s.versionPod, s.Clock.Now())...)
	}
	var troubled []*slurmdPod
	for _, pod := range s.slurmdPods {
		if pod.troubled {
			troubled = append(troubled, pod)
		}
	}
	slices.SortFunc(troubled, func(a, b *slurmdPod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range troubled {
		found = append(found, podProblems(pod.Pod, s.Clock.Now())...)
	}
	seen := map[string]bool{}
	for _, p := range found {
		if !seen[p.Reason] {
			seen[p.Reason] = true
			s.problems = append(s.problems, p)
		}
	}
	return nil
}

// podProblems says what keeps one pod from running.
func podProblems(pod *corev1.Pod, now time.Time) []status.Problem {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	var found []status.Problem
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			found = append(found, status.Problem{Reason: v1alpha1.ReasonUnschedulable,
				Message: fmt.Sprintf("Kubernetes has no place for pod %s: %s", pod.Name, c.Message)})
		}
	}
	for c := range containerStatuses(pod) {
		if p := containerProblem(pod, c, now); p != nil {
			found = append(found, *p)
		}
	}
	return found
}

// recent is how long the end of a container is told after it runs again: the kubelet often starts it again
// before it has told of its end.
const recent = 10 * time.Second

func containerProblem(pod *corev1.Pod, c *corev1.ContainerStatus, now time.Time) *status.Problem {
	if w := c.State.Waiting; w != nil {
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
			return &status.Problem{Reason: v1alpha1.ReasonImageUnavailable,
				Message: fmt.Sprintf("image %s of pod %s cannot be pulled: %s", c.Image, pod.Name, w.Message)}
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return &status.Problem{Reason: v1alpha1.ReasonContainerFailing,
				Message: fmt.Sprintf("container %s of pod %s cannot start: %s", c.Name, pod.Name, w.Message)}
		}
	}
	ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
	if ended == nil || c.State.Running != nil && now.Sub(ended.FinishedAt.Time) > recent {
		return nil
	}
	return &status.Problem{Reason: reasonOfExit(c.Name, ended.ExitCode),
		Message: fmt.Sprintf("container %s of pod %s ended with exit code %d%s and is started again: %s",
			c.Name, pod.Name, ended.ExitCode, signalName(ended), lastWords(ended))}
}

// reasonOfExit knows the shim's exit codes.
func reasonOfExit(container string, code int32) string {
	switch {
	case container == contract.ContainerSlurmctld && code == contract.ExitConfig:
		return v1alpha1.ReasonInvalidConfig
	case container == contract.ContainerSlurmd && code == contract.ExitUnusable:
		return v1alpha1.ReasonNodeUnusable
	}
	return v1alpha1.ReasonContainerFailing
}

func signalName(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "OOMKilled" {
		return " (out of memory)"
	}
	return ""
}

// lastWords is what a container left as its termination message, at most its last few lines.
func lastWords(t *corev1.ContainerStateTerminated) string {
	lines := strings.Split(strings.TrimSpace(t.Message), "\n")
	if text := strings.Join(lines[max(0, len(lines)-5):], "; "); text != "" {
		return text
	}
	return "it left no message"
}

// plain is the API server's own sentence, without what we were doing.
func plain(err error) string {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return s.Status().Message
	}
	return err.Error()
}

package controller

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// report writes the status, if it is another, and then its events.
func (s *scope) report(ctx context.Context) (changed bool, err error) {
	old := s.cluster.DeepCopy()
	s.cluster.Status = status.Make(s.observation())
	if equality.Semantic.DeepEqual(old.Status, s.cluster.Status) {
		s.memory.progressSeen = time.Time{}
		return false, nil
	}
	if s.passing(&old.Status) {
		return true, nil
	}
	if err := s.Client.Status().Patch(ctx, s.cluster, client.MergeFrom(old)); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return true, nil
		}
		return true, fmt.Errorf("writing the status: %w", err)
	}
	s.memory.progressSeen = time.Time{}
	s.recordEvents(old)
	return true, nil
}

// passingTime is how long a word on how far a cluster has come has to stand to be written. It is looked at several times a second.
const passingTime = time.Second

// passing tells whether the status only says anew how far a cluster has come that has become no more and no less usable, and may say
// something else in a moment: many clusters that start at the same time are ready sooner without.
func (s *scope) passing(old *v1alpha1.SlurmClusterStatus) bool {
	same := func(kind string) bool {
		was, is := meta.FindStatusCondition(old.Conditions, kind), meta.FindStatusCondition(s.cluster.Status.Conditions, kind)
		return was != nil && is != nil && was.Status == is.Status && was.ObservedGeneration == is.ObservedGeneration
	}
	if !same(v1alpha1.ConditionReady) || !same(v1alpha1.ConditionDegraded) || !same(v1alpha1.ConditionProgressing) ||
		!meta.IsStatusConditionTrue(s.cluster.Status.Conditions, v1alpha1.ConditionProgressing) || len(s.problems) > 0 ||
		!equality.Semantic.DeepEqual(old.Granted, s.cluster.Status.Granted) {
		return false
	}
	now := s.Clock.Now()
	if s.memory.progressSeen.IsZero() {
		s.memory.progressSeen = now
	}
	return now.Sub(s.memory.progressSeen) < passingTime
}

func (s *scope) observation() status.Observation {
	problems := s.problems
	if s.excess != nil {
		problems = append(problems[:len(problems):len(problems)], *s.excess)
	}
	o := status.Observation{
		Cluster: s.cluster, Pods: make([]status.Pod, len(s.slurmdPods)), Known: s.known,
		Jobs: s.slurmJobs, Version: s.slurmVersion,
		RunningConfig: s.agent.RunningHash, ConfigAppliedBy: string(s.agent.AppliedBy), WantedConfig: s.configHash,
		RunningImage:  s.runningImage(),
		ControllerRan: s.cluster.Status.SlurmVersion != "" && !s.resumes(),
		Problems:      problems, Waiting: s.waiting, Working: s.working,
		Granted: s.granted, Gathered: s.gathered, Life: s.life, Off: s.off(),
	}
	for i, pod := range s.slurmdPods {
		o.Pods[i] = status.Pod{Set: pod.plan.Set, Serving: pod.serving, Node: pod.node}
	}
	if s.want.ControllerIP != "" {
		o.Endpoints = v1alpha1.Endpoints{
			Slurmctld: net.JoinHostPort(s.want.ControllerIP, strconv.Itoa(contract.PortSlurmctld)),
			REST:      "http://" + net.JoinHostPort(s.want.ControllerIP, strconv.Itoa(contract.PortSlurmrestd)),
		}
	}
	return o
}

// resumes tells whether slurmctld has not answered yet since the cluster was suspended.
func (s *scope) resumes() bool {
	ready := meta.FindStatusCondition(s.cluster.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && (ready.Reason == v1alpha1.ReasonSuspended || ready.Reason == v1alpha1.ReasonStarting)
}

// serves tells whether a pod can run jobs as far as the kubelet told: none of its containers has ended
// without running again. One that the kubelet has not told of yet counts, because slurmctld knows better.
func serves(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	for c := range containerStatuses(pod) {
		if c.State.Terminated != nil || c.State.Waiting != nil && c.LastTerminationState.Terminated != nil {
			return false
		}
	}
	return true
}

// ready tells whether the cluster was ready when its status was last written.
func (s *scope) ready() bool {
	return meta.IsStatusConditionTrue(s.cluster.Status.Conditions, v1alpha1.ConditionReady)
}

// recordEvents tells users of what changed in the conditions that they read, and of new configurations.
func (s *scope) recordEvents(old *v1alpha1.SlurmCluster) {
	if is := s.cluster.Status; old.Status.ConfigHash != "" && old.Status.ConfigHash != is.ConfigHash {
		s.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, v1alpha1.ReasonConfigApplied, "Reconcile",
			"slurmctld runs with a new configuration (%s)", is.ConfigAppliedBy)
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionDegraded} {
		was := meta.FindStatusCondition(old.Status.Conditions, kind)
		is := meta.FindStatusCondition(s.cluster.Status.Conditions, kind)
		if was != nil && was.Status == is.Status && was.Reason == is.Reason || !worthTelling(is) {
			continue
		}
		level := corev1.EventTypeNormal
		if kind == v1alpha1.ConditionDegraded {
			level = corev1.EventTypeWarning
		}
		s.Recorder.Eventf(s.cluster, nil, level, is.Reason, "Reconcile", "%s", is.Message)
	}
}

// worthTelling: that a cluster became ready or is suspended, and that something is wrong.
func worthTelling(c *metav1.Condition) bool {
	return c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonSuspended
}

package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

const (
	// gatherTime is how long Kubernetes may take to find room for the last node of a cluster that wants all or none: a cluster
	// autoscaler may have to add a machine.
	gatherTime = 30 * time.Second
	// shortestPause and longestPause are how long such a cluster has no nodes before it is tried again.
	shortestPause, longestPause = 15 * time.Second, 5 * time.Minute
)

// gathering is how far a cluster is that wants all of its nodes or none.
type gathering struct {
	// pause is how long it last had none, until when, and why.
	pause time.Duration
	until time.Time
	why   status.Problem
	// refused is why Kubernetes refused a pod, and controllerRefused tells that it refused the controller pod.
	refused           string
	controllerRefused bool
}

// gather lets no node of a new cluster stand in the way of its slurmctld. And it lets no job onto a cluster that wants all of its
// nodes or none until they are there, and takes away those that are if there is no room for the others. Once it has had all of
// them, it is like any other.
func (s *scope) gather(context.Context) error {
	spec, m := &s.cluster.Spec, &s.memory.gathering
	if s.controllerPod != nil {
		m.controllerRefused = false
	}
	if m.controllerRefused && s.cluster.Status.SlurmVersion == "" {
		s.withoutNodes = true // they would use up what a quota leaves for slurmctld
		return nil
	}
	if !spec.AllOrNothing || spec.Suspend {
		return nil
	}
	if s.gathered = s.cluster.Status.Gathered; s.gathered {
		return nil
	}
	wanted, there := 0, 0
	for _, set := range spec.NodeSets {
		if set.Autoscale == nil {
			wanted += desired.Replicas(set)
		}
	}
	for _, pod := range s.slurmdPods {
		if set := s.nodeSet(pod.plan.Set); set != nil && set.Autoscale == nil && pod.node != nil && pod.serving {
			there++
		}
	}
	now := s.Clock.Now()
	if s.known && there >= wanted && now.After(m.until) {
		s.gathered = true
		return nil
	}
	s.gathers = true
	if why := s.whyNotAll(now); why != nil && now.After(m.until) {
		m.pause = min(max(2*m.pause, shortestPause), longestPause)
		m.until, m.refused = now.Add(m.pause), ""
		m.why = status.Problem{Reason: why.Reason, Message: fmt.Sprintf("all %d nodes or none, as asked: there were %d; %s", wanted, there, why.Message)}
	}
	if now.Before(m.until) {
		s.withoutNodes = true
		s.problems = append(s.problems, m.why)
	}
	return nil
}

// whyNotAll says what keeps nodes from coming, or nil if they may still come.
func (s *scope) whyNotAll(now time.Time) *status.Problem {
	if refused := s.memory.gathering.refused; refused != "" {
		return &status.Problem{Reason: v1alpha1.ReasonPodsRefused, Message: refused}
	}
	for _, pod := range s.slurmdPods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && now.Sub(c.LastTransitionTime.Time) > gatherTime {
				return &status.Problem{Reason: v1alpha1.ReasonUnschedulable, Message: c.Message}
			}
		}
	}
	return nil
}

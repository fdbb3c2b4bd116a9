package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/lifetime"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// live sees to it that a cluster with a lifetime ends, and that its users hear of it before. It tells whether the cluster is
// gone.
func (s *scope) live(ctx context.Context) (gone bool, err error) {
	spec := s.cluster.Spec.Lifecycle
	s.memory.due = time.Time{}
	if spec.TTL == nil && spec.IdleTimeout == nil {
		return false, nil
	}
	now := s.Clock.Now()
	s.life.IdleSince = s.idleSince(now)
	end := s.end()
	if end != nil && end.Idle && !now.Before(end.WarnAt) {
		s.lookClosely(ctx, now)
		end = s.end()
	}
	if end == nil {
		return false, nil
	}
	s.life.ExpiresAt = end.At
	if warned := s.cluster.Status.WarnedOf; warned != nil && warned.Time.Equal(end.At) {
		s.life.WarnedOf = end.At
	}
	switch {
	case !now.Before(end.At):
		return s.endCluster(ctx, end)
	case !now.Before(end.WarnAt) && s.life.WarnedOf.IsZero():
		s.warn(ctx, end)
		s.life.WarnedOf = end.At
	}
	s.memory.due = end.At
	if now.Before(end.WarnAt) {
		s.memory.due = end.WarnAt
	}
	return false, nil
}

// end is the cluster's end. The API writes times in whole seconds.
func (s *scope) end() *lifetime.End {
	end := lifetime.Of(s.cluster.Spec.Lifecycle, s.cluster.CreationTimestamp.Time, s.life.IdleSince)
	if end != nil {
		end.At = end.At.Truncate(time.Second)
	}
	return end
}

// idleSince is since when no job runs or waits; zero if one does, one has come and gone since the last look, the cluster is
// suspended, or slurmctld does not say.
func (s *scope) idleSince(now time.Time) time.Time {
	if s.cluster.Spec.Lifecycle.IdleTimeout == nil || s.cluster.Spec.Suspend || !s.known {
		return time.Time{}
	}
	busy := slices.ContainsFunc(s.slurmJobs, func(j slurm.Job) bool { return j.Running() || j.Pending() })
	if s.newJobs() || busy || s.cluster.Status.IdleSince == nil {
		if busy {
			return time.Time{}
		}
		return now.Truncate(time.Second)
	}
	return s.cluster.Status.IdleSince.Time
}

// newJobs tells whether there are jobs that were not there in the last look, and remembers those that are.
func (s *scope) newJobs() bool {
	seen := make(map[string]bool, len(s.slurmJobs))
	fresh := false
	for _, job := range s.slurmJobs {
		seen[job.ID] = true
		fresh = fresh || s.memory.jobs != nil && !s.memory.jobs[job.ID]
	}
	s.memory.jobs = seen
	return fresh
}

// lookClosely makes sure that a cluster is idle that will end for it.
func (s *scope) lookClosely(ctx context.Context, now time.Time) {
	if s.asked != nil { // what is known of jobs may be old
		s.learn(ctx, s.askAll)
		s.life.IdleSince = s.idleSince(now)
	}
	if !s.life.IdleSince.IsZero() {
		s.life.IdleSince = s.visitedSince(ctx, now)
	}
}

// visitedSince is since when nobody has a shell open either. Not to know is not a reason to end a cluster.
func (s *scope) visitedSince(ctx context.Context, now time.Time) time.Time {
	visitors, err := s.slurm.Visitors(ctx)
	if err != nil {
		s.log(ctx).Info("slurmctld's agent does not tell whether somebody has a shell, so the cluster is not taken to be idle", "error", err.Error())
		return now.Truncate(time.Second)
	}
	if visitors.SecondsSince < 0 {
		return s.life.IdleSince
	}
	last := now.Add(-time.Duration(visitors.SecondsSince) * time.Second).Truncate(time.Second)
	if last.After(s.life.IdleSince) {
		return last
	}
	return s.life.IdleSince
}

// warn tells users that the cluster will end.
func (s *scope) warn(ctx context.Context, end *lifetime.End) {
	left := lifetime.Duration(end.At.Sub(s.Clock.Now()).Round(time.Second))
	text := fmt.Sprintf("SlurmCluster %s ends in %s, because then %s", s.cluster.Name, left, end.Why)
	s.Recorder.Eventf(s.cluster, nil, corev1.EventTypeWarning, v1alpha1.ReasonEndsSoon, "Reconcile", "%s", text)
	if !s.known {
		return
	}
	if err := s.slurm.Announce(ctx, text+". To go on: kubectl slurmcluster extend "+s.cluster.Name+" 1h"); err != nil {
		s.log(ctx).Info("not every shell was told of the cluster's end", "error", err.Error())
	}
}

// endCluster deletes the cluster, if it is still the one that was looked at: its owner may just have given it more time.
func (s *scope) endCluster(ctx context.Context, end *lifetime.End) (gone bool, err error) {
	text := fmt.Sprintf("SlurmCluster %s is deleted, because %s", s.cluster.Name, end.Why)
	if running := count(s.slurmJobs, slurm.Job.Running); running > 0 {
		text += fmt.Sprintf("; %d of its jobs still ran", running)
	}
	s.log(ctx).Info("Deleting the cluster", "reason", end.Why)
	err = s.Client.Delete(ctx, s.cluster, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &s.cluster.UID, ResourceVersion: &s.cluster.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		return false, nil
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("deleting the cluster at the end of its life: %w", err)
	}
	s.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, v1alpha1.ReasonEnded, "Reconcile", "%s", text)
	return true, nil
}

func count[T any](list []T, is func(T) bool) int {
	n := 0
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

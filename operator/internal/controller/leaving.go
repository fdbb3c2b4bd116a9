package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/nodeplan"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// lingers tells whether the jobs of a pod that is being deleted have time to end.
func (s *scope) lingers(pod *slurmdPod) bool {
	return pod.DeletionTimestamp != nil && pod.plan.Running && s.Clock.Now().Before(pod.DeletionTimestamp.Time)
}

// drainTimeout is how long the jobs of a node set's nodes may keep them from leaving; ok is false if for ever.
func (s *scope) drainTimeout(set string) (timeout time.Duration, ok bool) {
	if n := s.nodeSet(set); n != nil && n.DrainTimeout != nil {
		return n.DrainTimeout.Duration, true
	}
	return 0, false
}

// late tells whether a pod's node has waited for its jobs for as long as the user lets it.
func (s *scope) late(pod *slurmdPod) bool {
	node := pod.node
	if node == nil || !node.Ours() || !node.Draining() {
		return false
	}
	timeout, bounded := s.drainTimeout(pod.plan.Set)
	if !bounded {
		return false
	}
	since := node.ReasonChangedAt.Time()
	return !since.IsZero() && s.Clock.Since(since) >= timeout
}

// findFreeAt asks when busy nodes will be free, where it has to be decided which of them leaves.
func (s *scope) findFreeAt(ctx context.Context, o *nodeplan.Observation) {
	if !s.known || !nodeplan.Chooses(*o) {
		return
	}
	jobs, err := s.slurm.JobInfos(ctx)
	if err != nil {
		s.log(ctx).Info("slurmctld does not tell which nodes will be free soonest, the newest leave first", "error", err.Error())
		return
	}
	o.FreeAt = map[string]int64{}
	for _, job := range jobs {
		if !job.Running() {
			continue
		}
		end := job.EndTime.Time()
		for _, node := range job.Nodes() {
			if end.IsZero() {
				end = never
			}
			o.FreeAt[node] = max(o.FreeAt[node], end.Unix())
		}
	}
}

// never is when jobs without a time limit end.
var never = time.Unix(1<<40, 0)

// jobsOn are the jobs that a node runs.
func (s *scope) jobsOn(ctx context.Context, node string) ([]slurm.JobInfo, error) {
	jobs, err := s.slurm.JobInfos(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(jobs, func(job slurm.JobInfo) bool { return !job.Running() || !job.On(node) }), nil
}

// takeFromJobs sets a node down whose jobs had their time. Nothing else ever ends a job, so it is said aloud which; as
// long as slurmctld does not tell that, they go on.
func (s *scope) takeFromJobs(ctx context.Context, step nodeplan.Step) error {
	list, err := s.jobsOn(ctx, step.Node)
	if err != nil {
		return err
	}
	var names []string
	for _, job := range list {
		names = append(names, fmt.Sprintf("job %d (%s of %s)", job.ID, job.Name, job.User))
	}
	jobs := strings.Join(names, ", ")
	reason := contract.ReasonPrefix + step.Why + ", it was taken from " + jobs
	if err := s.slurm.UpdateNode(ctx, step.Node, slurm.StateDown, reason); err != nil {
		return err
	}
	timeout, _ := s.drainTimeout(step.Set)
	message := fmt.Sprintf("node %s was drained for %s, which is its set's drainTimeout, and is taken from %s; Slurm runs them again, unless they were submitted with --no-requeue",
		step.Node, timeout, jobs)
	s.Recorder.Eventf(s.cluster, nil, corev1.EventTypeWarning, v1alpha1.ReasonDrainTimedOut, "Reconcile", "%s", message)
	return nil
}

// tellOfLate says in the status which jobs nodes were taken from, as long as those are there.
func (s *scope) tellOfLate() {
	for i := range s.slurmNodes {
		n := &s.slurmNodes[i]
		if text, ok := strings.CutPrefix(n.Reason, contract.ReasonPrefix+nodeplan.WhyLate); ok {
			s.waiting = &status.Problem{Reason: v1alpha1.ReasonDrainTimedOut, Message: "node " + n.Name + ": " + nodeplan.WhyLate + text}
		}
	}
}

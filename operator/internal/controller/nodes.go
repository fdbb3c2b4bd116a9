package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/nodeplan"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// registerTime is how long a slurmd may take to register with a slurmctld that answers.
const registerTime = 15 * time.Second

// runNodes plans the cluster's nodes and carries the plan out.
func (s *scope) runNodes(ctx context.Context) error {
	if s.configHash == "" {
		return nil // slurmds of a cluster that cannot start would wait for nothing
	}
	steps := s.plan(ctx)
	if slices.ContainsFunc(steps, func(step nodeplan.Step) bool { return !s.fresh(step.Node) }) {
		s.learn(ctx, s.askAll)
		steps = s.plan(ctx)
	}
	s.createNodes(ctx, steps)
	create := map[string][]nodeplan.Step{}
	for _, step := range steps {
		if step.Action == nodeplan.CreatePod {
			create[step.Set] = append(create[step.Set], step)
			continue
		}
		if err := s.run(ctx, step); err != nil {
			return err
		}
	}
	for _, set := range slices.Sorted(maps.Keys(create)) {
		if err := s.createPods(ctx, create[set]); err != nil {
			return err
		}
	}
	s.tellOfLate()
	s.tellOfFailed()
	s.tellOfStarting()
	return nil
}

func (s *scope) plan(ctx context.Context) []nodeplan.Step {
	s.recallEnds(ctx)
	o := nodeplan.Observation{
		Sets: s.wantedSets(), Pods: s.planPods(), Known: s.known, Nodes: s.slurmNodes, At: s.slurmAt,
		New:     s.cluster.Status.SlurmVersion == "",
		Gathers: s.gathers,
		Now:     s.Clock.Now(), StartingSince: s.memory.startingSince,
	}
	s.findFreeAt(ctx, &o)
	return nodeplan.Make(o)
}

// tooEarly tells whether a node would register devices that slurmctld has not heard of yet.
func (s *scope) tooEarly(step nodeplan.Step) bool {
	early := s.known && s.agent.RunningHash != s.configHash && desired.HasDevices(s.want, step.Set)
	if early {
		s.workOn("node %s waits until slurmctld knows its devices", step.Node)
	}
	return early
}

// run carries out one step.
func (s *scope) run(ctx context.Context, step nodeplan.Step) error {
	if step.Action == nodeplan.Wait {
		s.waiting = s.waitingFor(step)
		return nil
	}
	if step.Action == nodeplan.CreateNode {
		return nil // all at once
	}
	s.announce(ctx, step)
	if step.Action != nodeplan.DeletePod {
		return s.tell(ctx, step)
	}
	if pod := s.podOf(step.Node); pod != nil {
		return s.deletePod(ctx, pod.Pod)
	}
	return nil
}

func (s *scope) announce(ctx context.Context, step nodeplan.Step) {
	s.workOn("node %s: %s, because: %s", step.Node, step.Action, step.Why)
	s.log(ctx).Info(string(step.Action), "node", step.Node, "reason", step.Why)
}

// tell carries out a step that slurmctld does. What slurmctld refuses is looked at again soon: a node that
// is to be deleted may still be ending a job.
func (s *scope) tell(ctx context.Context, step nodeplan.Step) error {
	var err error
	reason := contract.ReasonPrefix + step.Why
	switch step.Action {
	default:
		return fmt.Errorf("step %s is not one for slurmctld", step.Action)
	case nodeplan.Drain:
		err = s.slurm.UpdateNode(ctx, step.Node, slurm.StateDrain, reason)
	case nodeplan.Admit:
		err = s.slurm.UpdateNode(ctx, step.Node, slurm.StateIdle, slurm.NoReason)
	case nodeplan.Resume:
		err = s.slurm.UpdateNode(ctx, step.Node, slurm.StateResume, slurm.NoReason)
	case nodeplan.Down:
		if step.Why == nodeplan.WhyLate {
			err = s.takeFromJobs(ctx, step)
			break
		}
		if step.Why == nodeplan.WhyNotStarted {
			err = s.giveUp(ctx, step)
			break
		}
		err = s.slurm.UpdateNode(ctx, step.Node, slurm.StateDown, s.downReason(step, reason))
	case nodeplan.PowerUp:
		err = s.slurm.UpdateNode(ctx, step.Node, slurm.StatePowerUp, "")
	case nodeplan.PowerDown:
		err = s.slurm.UpdateNode(ctx, step.Node, slurm.StatePowerDown, "")
	case nodeplan.DeleteNode:
		err = s.slurm.DeleteNode(ctx, step.Node)
	}
	s.acted = true
	if err == nil && step.Action == nodeplan.Down {
		s.memory.requeueUntil = s.Clock.Now().Add(requeueTime)
	}
	if pod := s.podOf(step.Node); err == nil && pod != nil {
		s.remember(step, pod)
	}
	if err != nil {
		s.log(ctx).Info("slurmctld did not do a step, it is tried again", "step", step.Action, "node", step.Node, "error", err.Error())
	}
	return nil
}

// remember remembers what slurmctld was told about a pod's node.
func (s *scope) remember(step nodeplan.Step, pod *slurmdPod) {
	switch {
	case step.Action == nodeplan.Down:
		pod.told, pod.toldSeen = pod.ends, true
	case step.Action == nodeplan.DeleteNode && step.Why == nodeplan.WhyResize:
		pod.registered, pod.resized = false, s.Clock.Now()
	}
}

// downReason keeps an administrator's words on a node that they drained.
func (s *scope) downReason(step nodeplan.Step, reason string) string {
	if at := s.slurmNode(step.Node); at >= 0 {
		if n := s.slurmNodes[at]; n.Draining() && !n.Ours() && n.Reason != "" {
			return n.Reason
		}
	}
	return reason
}

const (
	// podsAtOnce is how many pods are made at the same time.
	podsAtOnce = 8
	// podsPerLook is how many pods of a set are made before it is told how far the cluster is.
	podsPerLook = 200
)

// createPods makes pods of one set, several at once: a user waits for them. Where Kubernetes refuses one, it is not asked
// for more.
func (s *scope) createPods(ctx context.Context, steps []nodeplan.Step) error {
	set := s.nodeSet(steps[0].Set)
	if set == nil || s.tooEarly(steps[0]) {
		return nil
	}
	for some := range slices.Chunk(steps[:min(len(steps), podsPerLook)], podsAtOnce) {
		errs := make([]error, len(some))
		var all errgroup.Group
		for i, step := range some {
			s.announce(ctx, step)
			pod := desired.SlurmdPod(s.want, *set, step.Index)
			all.Go(func() error {
				errs[i] = s.writer.Create(ctx, s.cluster, pod, &corev1.Pod{})
				return nil
			})
		}
		_ = all.Wait() // all have said theirs
		refused := false
		for i, err := range errs {
			switch {
			case err == nil:
				s.acted = true
			case refuses(err):
				s.memory.refusals[some[i].Node], s.memory.gathering.refused = plain(err), plain(err)
				if !refused {
					s.problem(v1alpha1.ReasonPodsRefused, "Kubernetes refuses the pod of node "+some[i].Node+": "+plain(err))
				}
				refused = true
			default:
				return err
			}
		}
		if refused {
			return nil
		}
	}
	return nil
}

// refuses tells whether Kubernetes refuses a pod, which a change of the spec or of a quota may help. In a namespace that is going
// it refuses everything.
func refuses(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// nodeSet is the wanted node set of a name, or nil.
func (s *scope) nodeSet(name string) *v1alpha1.NodeSet {
	for i := range s.cluster.Spec.NodeSets {
		if s.cluster.Spec.NodeSets[i].Name == name {
			return &s.cluster.Spec.NodeSets[i]
		}
	}
	return nil
}

func (s *scope) wantedSets() []nodeplan.Set {
	var sets []nodeplan.Set
	for _, set := range s.cluster.Spec.NodeSets {
		if s.withoutNodes && set.Autoscale == nil {
			set.Replicas = ptr.To[int32](0)
		}
		sets = append(sets, nodeplan.Set{
			Name: set.Name, Replicas: desired.Replicas(set), Hash: desired.TemplateHash(s.want, set),
			MaxUnavailable: desired.MaxUnavailable(set), Cloud: cloud(set),
		})
	}
	return sets
}

func (s *scope) planPods() []nodeplan.Pod {
	pods := slices.Grow(s.memory.plan[:0], len(s.slurmdPods))
	defer func() { s.memory.plan = pods }()
	for _, pod := range s.slurmdPods {
		if !pod.named {
			continue // somebody changed our label; the pod's name still keeps its place
		}
		if pod.DeletionTimestamp != nil {
			s.workOn("the pod of node %s is going", pod.name())
		}
		pods = append(pods, pod.plan)
		p, where := &pods[len(pods)-1], s.machineFor(pod.Pod)
		p.Slurm = pod.node
		p.Lost, p.Overdue, p.Late = s.lost(pod), s.overdue(pod), s.late(pod)
		p.Impatient, p.Lingers = s.impatient(pod), s.lingers(pod)
		p.Stuck = !pod.plan.Started && pod.troubled && len(podProblems(pod.Pod, s.Clock.Now())) > 0
		p.Cordoned, p.Unreachable = where.cordoned, where.unreachable
	}
	return pods
}

// lost tells whether a pod's slurmd has ended since slurmctld was last told of an end. The kubelet may start
// it again before it tells of its end, and slurmctld may hear of the next slurmd first: the jobs of the one
// that ended are lost all the same, and slurmctld only finds that out when the node is set down.
func (s *scope) lost(pod *slurmdPod) bool {
	if !pod.toldSeen && !s.known {
		return false
	}
	if !pod.toldSeen {
		pod.told, pod.toldSeen = pod.restarts, true
	}
	if pod.ends == pod.told {
		return false
	}
	if node := pod.node; s.known && (node == nil || node.Down()) {
		pod.told = pod.ends
	}
	return pod.ends > pod.told
}

// recallEnds finds out, after a start of the operator, which slurmds had been started again before it looked for the first
// time. Ends of long ago must not cost the jobs of now; but a job that began before the slurmd did ended with the one
// before, and slurmctld may take half an hour to notice.
func (s *scope) recallEnds(ctx context.Context) {
	var jobs []slurm.JobInfo
	for _, pod := range s.slurmdPods {
		if pod.toldSeen || pod.restarts == 0 {
			continue
		}
		if node := pod.node; node == nil || !node.Busy() {
			continue
		}
		if jobs == nil {
			var err error
			if jobs, err = s.slurm.JobInfos(ctx); err != nil {
				s.log(ctx).Info("slurmctld does not tell since when jobs run, it is asked again", "error", err.Error())
				s.known = false // what follows must not take an end for one of long ago
				return
			}
		}
		if slices.ContainsFunc(jobs, func(job slurm.JobInfo) bool {
			began := job.StartTime.Time()
			return job.Running() && job.On(pod.name()) && !began.IsZero() && began.Before(pod.plan.RunningSince)
		}) {
			pod.told, pod.toldSeen = pod.restarts-1, true
		}
	}
}

// slurmdEnds is how often the slurmd of a pod has ended.
func slurmdEnds(pod *corev1.Pod) int32 {
	if !runs(pod, contract.ContainerSlurmd) && everRan(pod, contract.ContainerSlurmd) {
		return restarts(pod) + 1
	}
	return restarts(pod)
}

// restarts is how often the kubelet has started the slurmd of a pod again.
func restarts(pod *corev1.Pod) int32 {
	if c := containerStatus(pod, contract.ContainerSlurmd); c != nil {
		return c.RestartCount
	}
	return 0
}

// overdue tells whether slurmctld should know a pod's node by now, and remembers those that it knows.
func (s *scope) overdue(pod *slurmdPod) bool {
	if pod.node != nil {
		pod.registered = true
	}
	if pod.registered || !s.known || pod.plan.RunningSince.IsZero() {
		return pod.registered
	}
	since := s.memory.knownSince
	if pod.resized.After(since) {
		since = pod.resized
	}
	return s.Clock.Since(since) > registerTime && s.Clock.Since(pod.plan.RunningSince) > registerTime
}

// runningSince is when a pod's slurmd was last started, zero if it does not run.
func runningSince(pod *corev1.Pod) time.Time {
	if c := containerStatus(pod, contract.ContainerSlurmd); c != nil && c.State.Running != nil {
		return c.State.Running.StartedAt.Time
	}
	return time.Time{}
}

func (s *scope) waitingFor(step nodeplan.Step) *status.Problem {
	reason := v1alpha1.ReasonWaitingForJobs
	if step.Why != nodeplan.WhyBusy {
		reason = v1alpha1.ReasonUpdating
	}
	what := "is to leave"
	if s.podOf(step.Node) == nil {
		what = "is missing"
	}
	if at := s.slurmNode(step.Node); at >= 0 && s.slurmNodes[at].Wish() != "" {
		what = s.slurmNodes[at].Wish()
	}
	return &status.Problem{Reason: reason, Message: fmt.Sprintf("node %s, which %s, %s", step.Node, what, step.Why)}
}

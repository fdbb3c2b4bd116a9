package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/nodeplan"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// listener waits for Slurm to switch nodes on or off, which Kubernetes cannot know.
type listener struct {
	address, key string
	cancel       context.CancelFunc
}

func (l *listener) end() {
	if l.cancel != nil {
		l.cancel()
	}
	*l = listener{}
}

// listen sees to it that a listener waits where there are autoscaled node sets, and none elsewhere. Its life is the
// operator's, not that of one look.
func (s *scope) listen(context.Context) error { //nolint:contextcheck // as said
	l := &s.memory.listener
	if !s.autoscales() || s.controllerPod == nil || s.controllerPod.Status.PodIP == "" {
		l.end()
		return nil
	}
	address, key := s.controllerPod.Status.PodIP, string(s.keys[contract.KeyJWT])
	if l.address == address && l.key == key {
		return nil
	}
	l.end()
	ctx, cancel := context.WithCancel(s.stop)
	*l = listener{address, key, cancel}
	cluster := &v1alpha1.SlurmCluster{}
	cluster.Namespace, cluster.Name = s.cluster.Namespace, s.cluster.Name
	//nolint:contextcheck // as said
	go listenTo(ctx, s.NewListener(address, []byte(key)), func() {
		select {
		case s.events <- event.GenericEvent{Object: cluster}:
		case <-ctx.Done():
		}
	})
	return nil
}

func (s *scope) autoscales() bool {
	for _, set := range s.cluster.Spec.NodeSets {
		if set.Autoscale != nil {
			return true
		}
	}
	return false
}

// listenAgain is how long to wait after slurmctld's agent did not answer. Until then, looking from time to time serves.
const listenAgain = 2 * time.Second

func listenTo(ctx context.Context, from Slurm, tell func()) {
	var count uint64
	for ctx.Err() == nil {
		now, err := from.AwaitEvents(ctx, count)
		switch {
		case err != nil:
			select {
			case <-time.After(listenAgain):
			case <-ctx.Done():
			}
		case now != count:
			count = now
			tell()
		}
	}
}

func cloud(set v1alpha1.NodeSet) *nodeplan.Cloud {
	if set.Autoscale == nil {
		return nil
	}
	return &nodeplan.Cloud{
		Min: int(set.Autoscale.Min), Max: int(set.Autoscale.Max), Node: desired.CloudNode(set),
		IdleTimeout: desired.IdleTimeout(*set.Autoscale), StartTimeout: desired.StartTimeout(*set.Autoscale),
	}
}

// rememberStarting remembers since when nodes are being switched on.
func (s *scope) rememberStarting() {
	if !s.known {
		return
	}
	since := map[string]time.Time{}
	for i := range s.slurmNodes {
		n := &s.slurmNodes[i]
		if !n.Starting() {
			continue
		}
		since[n.Name] = s.Clock.Now()
		if before, seen := s.memory.startingSince[n.Name]; seen {
			since[n.Name] = before
		}
	}
	s.memory.startingSince = since
}

// tellOfStarting says which nodes are being switched on.
func (s *scope) tellOfStarting() {
	for i := range s.slurmNodes {
		n := &s.slurmNodes[i]
		if n.Starting() {
			s.workOn("node %s is being switched on for jobs", n.Name)
		}
	}
}

// idleIn is how long it takes until the next node of an autoscaled set has been idle for long enough to go, or the
// poll interval if none is.
func (s *scope) idleIn() time.Duration {
	next := s.PollInterval
	for _, set := range s.cluster.Spec.NodeSets {
		if set.Autoscale == nil {
			continue
		}
		on, least := 0, next
		for _, pod := range s.slurmdPods {
			node := pod.node
			if pod.plan.Set != set.Name || node == nil || !node.On() {
				continue
			}
			if on++; !node.Busy() {
				least = min(least, desired.IdleTimeout(*set.Autoscale)-s.Clock.Since(node.LastBusy.Time()))
			}
		}
		if on > int(set.Autoscale.Min) {
			next = least
		}
	}
	return max(next, 10*soon)
}

// createNodes tells Slurm of nodes that do not exist yet, all of a set at once.
func (s *scope) createNodes(ctx context.Context, steps []nodeplan.Step) {
	if s.agent.RunningHash != s.configHash {
		return // it may not know yet of their features, devices, or number
	}
	for _, set := range s.cluster.Spec.NodeSets {
		if set.Autoscale == nil {
			continue
		}
		nodes := desired.CloudNode(set)
		for _, step := range steps {
			if step.Set == set.Name && step.Action == nodeplan.CreateNode {
				nodes.Names = append(nodes.Names, step.Node)
			}
		}
		if len(nodes.Names) == 0 {
			continue
		}
		s.acted = true
		s.log(ctx).Info(string(nodeplan.CreateNode), "set", set.Name, "nodes", len(nodes.Names))
		if err := s.slurm.CreateNodes(ctx, nodes); err != nil {
			s.problem(v1alpha1.ReasonNodeNotStarted, fmt.Sprintf("slurmctld does not take the nodes of set %s: %v", set.Name, err))
		}
	}
}

// giveUp takes the jobs from a node that did not start in time, and tells them why.
func (s *scope) giveUp(ctx context.Context, step nodeplan.Step) error {
	why := step.Why
	if trouble := s.trouble(step.Node); trouble != "" {
		why += ": " + trouble
	}
	jobs, err := s.jobsOn(ctx, step.Node)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := s.slurm.CommentJob(ctx, job.ID, "node "+step.Node+" for this job: "+why); err != nil {
			s.log(ctx).Info("A job could not be told why its node did not start", "job", job.ID, "error", err.Error())
		}
	}
	s.Recorder.Eventf(s.cluster, nil, corev1.EventTypeWarning, v1alpha1.ReasonNodeNotStarted, "Reconcile", "node %s: %s", step.Node, why)
	return s.slurm.UpdateNode(ctx, step.Node, slurm.StateDown, contract.ReasonPrefix+why)
}

// trouble says what keeps a node's pod from running.
func (s *scope) trouble(node string) string {
	if refusal, refused := s.memory.refusals[node]; refused && s.podOf(node) == nil {
		return refusal
	}
	if pod := s.podOf(node); pod != nil {
		for _, p := range podProblems(pod.Pod, s.Clock.Now()) {
			return p.Message
		}
	}
	return ""
}

// tellOfFailed says which nodes rest because they did not start.
func (s *scope) tellOfFailed() {
	for i := range s.slurmNodes {
		n := &s.slurmNodes[i]
		if text, ok := strings.CutPrefix(n.Reason, contract.ReasonPrefix); ok && n.Is("DOWN") && strings.HasPrefix(text, nodeplan.WhyNotStarted) {
			s.problems = append(s.problems, status.Problem{Reason: v1alpha1.ReasonNodeNotStarted, Message: "node " + n.Name + ": " + text})
			return
		}
	}
}

// Package nodeplan decides which slurmd pods to create, drain and delete, each step with its reason. It is
// pure: it sees one observation and returns steps; it keeps nothing in between. A step is safe on its own,
// so that it does not matter if the ones after it are not carried out.
//
// Two rules stand above all others. Nothing that may run a job is deleted. And not knowing is not a reason:
// while slurmctld cannot be asked, only pods whose slurmd never ran are removed.
package nodeplan

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// Observation is what a plan is made from.
type Observation struct {
	// Sets are the wanted node sets.
	Sets []Set
	// Pods are the cluster's slurmd pods, whatever their set.
	Pods []Pod
	// Known tells whether slurmctld could be asked. Without it, Nodes means nothing.
	Known bool
	// New tells that slurmctld has never answered yet, so that it knows of no node.
	New bool
	// Nodes are slurmctld's nodes.
	Nodes []slurm.Node
	// At is where each is among Nodes; it is made where it is nil.
	At map[string]int
	// FreeAt is when the jobs of busy nodes will have ended at the latest, in seconds since 1970, as far as that is
	// known.
	FreeAt map[string]int64
	// Now is the time. Only autoscaled sets need it.
	Now time.Time
	// StartingSince is since when nodes are being switched on.
	StartingSince map[string]time.Time
	// Gathers tells that no job is to start before all nodes are there.
	Gathers bool
}

// Set is a wanted node set.
type Set struct {
	Name     string
	Replicas int
	// Hash is that of the pods it wants now.
	Hash string
	// Cloud is set for autoscaled sets, and Replicas does not count for those.
	Cloud *Cloud
	// MaxUnavailable is how many nodes may be out at once while they are replaced by ones of another hash.
	MaxUnavailable int
}

// Pod is a slurmd pod.
type Pod struct {
	Node string
	// Slurm is the node among Nodes, which is looked for where it is nil.
	Slurm *slurm.Node
	Set   string
	Index int
	// Hash is that of what it was made from.
	Hash string
	// Started tells whether its slurmd has ever run.
	Started bool
	// Running tells whether its slurmd runs now.
	Running bool
	// RunningSince is since when.
	RunningSince time.Time
	// Lost tells that its slurmd has ended, and every job in it with it, and that slurmctld was not told yet.
	Lost bool
	// Stuck tells that something keeps its slurmd from starting at all.
	Stuck bool
	// Overdue tells that its node should be known to slurmctld: it was before, or both have run for so long
	// that it must have registered.
	Overdue bool
	// Impatient tells that its node has waited long enough for a free moment to become larger.
	Impatient bool
	// Leaving tells that the pod is being deleted, or has ended for good.
	Leaving bool
	// Lingers tells that a leaving pod's slurmd runs still, and that its jobs have time to end.
	Lingers bool
	// Cordoned tells that nothing new is to run on the pod's machine.
	Cordoned bool
	// Unreachable tells that the kubelet of the pod's machine is not heard of.
	Unreachable bool
	// Late tells that the node was drained for longer than its jobs are given.
	Late bool
	// Ended tells that the pod has ended for good but its object is still there, and not being deleted.
	Ended bool
}

// Action is what a step does.
type Action string

// Actions of steps.
const (
	CreatePod Action = "CreatePod"
	DeletePod Action = "DeletePod"
	// Admit lets jobs onto a node that has just registered.
	Admit      Action = "Admit"
	Drain      Action = "Drain"
	Resume     Action = "Resume"
	Down       Action = "Down"
	DeleteNode Action = "DeleteNode"
	// CreateNode tells Slurm of a node that is not switched on, PowerUp and PowerDown switch such a node on and off.
	CreateNode Action = "CreateNode"
	PowerUp    Action = "PowerUp"
	PowerDown  Action = "PowerDown"
	// Wait does nothing; it tells why nothing is done yet.
	Wait Action = "Wait"
)

// Step is one thing to do to one node.
type Step struct {
	Action Action
	Node   string
	Set    string
	Index  int
	// Why is a few words for logs, events and, with contract.ReasonPrefix, for Slurm.
	Why string
}

// Reasons of steps.
const (
	WhyMissing     = "wanted by the node set"
	WhyScaleIn     = "scale-in"
	WhyUpdate      = "update"
	WhyResize      = "resize"
	WhyRegistered  = "registered"
	WhyStays       = "no longer leaves"
	WhyPodLost     = "pod lost"
	WhyPodGoing    = "its pod is going"
	WhyCordoned    = "its machine is cordoned"
	WhyMachineLost = "its machine does not answer"
	WhySwitchedOn  = "Slurm has switched it on"
	WhySwitchedOff = "Slurm has switched it off"
	// WhyNotResponding is for a node that is switched off, and so cannot respond.
	WhyNotResponding = "Slurm waits for it to respond, which it cannot while it is switched off"
	WhyNotStarted    = "it did not start in time"
	WhyIdle          = "idle"
	WhyLate          = "its drain has timed out"
	WhyPodGone       = "its pod is gone"
	WhyPodEnded      = "its pod has ended"
	WhySlurmdDown    = "slurmd is not running"
	WhySlurmdBack    = "slurmd is back"
	WhyUnregistered  = "slurmd is not known to slurmctld"
	WhyBusy          = "waits for its jobs to end"
	WhyUnknown       = "waits for slurmctld to answer"
	WhyAdmin         = "was drained by an administrator"
)

// Make plans the next steps.
func Make(o Observation) []Step {
	p := newPlanner(o)
	p.lost()
	for _, name := range p.setNames() {
		p.planSet(name)
	}
	return p.steps
}

// Chooses tells whether a plan will have to choose between nodes, so that FreeAt helps.
func Chooses(o Observation) bool {
	have := map[string]int{}
	for i := range o.Pods {
		if !o.Pods[i].Leaving {
			have[o.Pods[i].Set]++
		}
	}
	if !slices.ContainsFunc(o.Sets, func(set Set) bool { return set.Cloud == nil && have[set.Name] > set.Replicas }) {
		return false
	}
	p := newPlanner(o)
	for _, set := range o.Sets {
		if set.Cloud != nil {
			continue
		}
		members := p.members(set.Name)
		busy, leave := 0, 0
		for _, pod := range members {
			if node := pod.node; node.Busy() && !p.drainedByAdmin(node) {
				busy++
			}
			if p.leavesFor(pod, WhyScaleIn) {
				leave++
			}
		}
		if extra := len(members) - set.Replicas; extra > len(members)-busy || extra > 0 && extra < leave {
			return extra != leave
		}
	}
	return false
}

// setNames are the wanted sets in their order, then sets that only have pods left.
func (p *planner) setNames() []string {
	var names []string
	for _, s := range p.Sets {
		names = append(names, s.Name)
	}
	var left []string
	for i := range p.Pods {
		set := p.Pods[i].Set
		if _, wanted := p.sets[set]; !wanted && !slices.Contains(left, set) {
			left = append(left, set)
		}
	}
	slices.Sort(left)
	return append(names, left...)
}

func (p *planner) add(a Action, pod *place, why string) {
	p.steps = append(p.steps, Step{Action: a, Node: pod.Node, Set: pod.Set, Index: pod.Index, Why: why})
}

// planSet brings one set towards its wanted number of nodes, all made from its present spec.
func (p *planner) planSet(name string) {
	set := p.sets[name]
	if set.Cloud != nil {
		p.planCloud(set)
		return
	}
	members := p.members(name)
	leaving := map[string]bool{}
	for _, pod := range p.surplus(members, set.Replicas) {
		leaving[pod.Node] = true
	}
	staying := make([]*place, 0, len(members))
	for _, pod := range members {
		switch {
		case pod.Leaving, p.dead(pod):
		case leaving[pod.Node]:
			p.remove(pod, WhyScaleIn)
		default:
			staying = append(staying, pod)
		}
	}
	p.update(set, staying)
	p.create(set, len(members)-len(leaving))
}

// members are the pods of a set that count towards its replicas: also those that leave against our will,
// because they come back under the same name.
func (p *planner) members(name string) []*place {
	inOrder := make([]*place, len(p.places))
	var others []*place
	for i := range p.places {
		pod := &p.places[i]
		switch {
		case pod.Set != name || pod.Leaving:
		case pod.Index >= 0 && pod.Index < len(inOrder) && inOrder[pod.Index] == nil:
			inOrder[pod.Index] = pod // nearly all, and faster than sorting
		default:
			others = append(others, pod)
		}
	}
	list := append(slices.DeleteFunc(inOrder, func(pod *place) bool { return pod == nil }), others...)
	if others != nil {
		slices.SortStableFunc(list, func(a, b *place) int { return cmp.Compare(a.Index, b.Index) })
	}
	return list
}

// surplus chooses the pods that are too many: first those that already leave, then those that run nothing, then those
// that will be free soonest, of equal ones the newest. Nodes that an administrator drained come last, since they are
// not ours to end.
func (p *planner) surplus(members []*place, replicas int) []*place {
	extra := len(members) - replicas
	if extra <= 0 {
		return nil
	}
	order := slices.Clone(members)
	slices.SortFunc(order, func(a, b *place) int {
		return cmp.Or(
			cmp.Compare(p.cost(a), p.cost(b)),
			cmp.Compare(p.freeAt(a), p.freeAt(b)),
			cmp.Compare(b.Index, a.Index))
	})
	return order[:extra]
}

func (p *planner) freeAt(pod *place) int64 {
	if at, known := p.FreeAt[pod.Node]; known {
		return at
	}
	return math.MaxInt64
}

// What it costs to lose a pod.
const (
	costNothing = iota // it leaves already
	costUnused
	costDown
	costIdle
	costBusy
	costAdmin // not ours to end
)

func (p *planner) cost(pod *place) int {
	node, registered := pod.node, pod.registered
	switch {
	case p.leavesFor(pod, WhyScaleIn):
		return costNothing
	case !pod.Started && !registered:
		return costUnused
	case !p.Known:
		return costIdle
	case p.drainedByAdmin(node):
		return costAdmin
	case !registered || node.Down():
		return costDown
	case node.Busy():
		return costBusy
	case pod.Cordoned:
		return costUnused
	}
	return costIdle
}

// leavesFor tells whether a node was drained to leave for a reason. One whose jobs had their time leaves for any.
func (p *planner) leavesFor(pod *place, why string) bool {
	node := pod.node
	return p.Known && (node.Draining() && node.Reason == contract.ReasonPrefix+why ||
		strings.HasPrefix(node.Reason, contract.ReasonPrefix+WhyLate))
}

func (p *planner) drainedByAdmin(n *slurm.Node) bool { return n.Draining() && !n.Ours() }

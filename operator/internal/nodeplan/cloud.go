package nodeplan

import (
	"slices"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// Cloud is what an autoscaled set wants. Slurm's scheduler switches its nodes on, and pods are made to match; idle ones
// are switched off here.
type Cloud struct {
	Min, Max int
	// IdleTimeout is how long a node above Min stays without jobs.
	IdleTimeout time.Duration
	// StartTimeout is how long a node may take from being switched on until it registers, and how long it then rests.
	StartTimeout time.Duration
	// Node is what Slurm is told of each node; Names does not count.
	Node contract.CloudNodes
}

// registerTime is longer than a slurmd takes from its start until Slurm takes it as the one that was switched on.
const registerTime = 20 * time.Second

// planCloud makes the pods of an autoscaled set match what Slurm has switched on.
func (p *planner) planCloud(set Set) {
	if !p.Known {
		return // nothing that Slurm does not ask for
	}
	indexes := p.indexes(set)
	on := 0
	var idle []*place
	for _, index := range indexes {
		pod := p.place(set.Name, index)
		node, registered := pod.node, pod.registered
		switch wanted := index < set.Cloud.Max; {
		case !registered:
			p.unknown(pod, wanted)
		case !node.Cloud():
			p.ordinary(pod)
		case node.Off():
			p.off(set, pod, node, wanted)
		case node.Starting():
			on++
			p.starting(set, pod, node)
		case p.on(set, pod, node, wanted):
			on++
			if !node.Busy() && !p.drainedByAdmin(node) && p.Now.Sub(node.LastBusy.Time()) > set.Cloud.IdleTimeout {
				idle = append(idle, pod)
			}
		}
	}
	for i := len(idle) - 1; i >= 0 && on > set.Cloud.Min; i-- {
		p.add(PowerDown, idle[i], WhyIdle)
		on--
	}
	p.switchOn(set, set.Cloud.Min-on)
}

// indexes are those of a set's nodes: wanted ones, and others that are still there.
func (p *planner) indexes(set Set) []int {
	list := make([]int, 0, set.Cloud.Max)
	for index := range set.Cloud.Max {
		list = append(list, index)
	}
	for _, pod := range p.Pods {
		if pod.Set == set.Name && pod.Index >= set.Cloud.Max {
			list = append(list, pod.Index)
		}
	}
	for _, node := range p.Nodes {
		if name, index, ok := splitNodeName(node.Name); ok && name == set.Name && index >= set.Cloud.Max {
			list = append(list, index)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// unknown deals with a node that Slurm does not know.
func (p *planner) unknown(pod *place, wanted bool) {
	switch {
	case !pod.exists && wanted:
		p.add(CreateNode, pod, WhyMissing)
	case pod.exists && !pod.Leaving && (pod.Overdue || !pod.Started):
		p.add(DeletePod, pod, WhyUnregistered)
	}
}

// ordinary removes a node that is always on, from before its set was autoscaled.
func (p *planner) ordinary(pod *place) {
	node := pod.node
	switch {
	case pod.exists && !pod.Leaving:
		if !p.dead(pod) {
			p.remove(pod, WhyUpdate)
		}
	case pod.Lingers || p.drainedByAdmin(node):
	case !node.Down() && (!node.Draining() || node.Busy()):
		p.add(Down, pod, WhyPodLost)
	case !pod.exists && !node.Busy():
		p.add(DeleteNode, pod, WhyPodGone)
	}
}

// off deals with a node that Slurm has switched off, or is switching off.
func (p *planner) off(set Set, pod *place, node *slurm.Node, wanted bool) {
	switch {
	case pod.exists:
		if !pod.Leaving {
			p.add(DeletePod, pod, WhySwitchedOff)
		}
	case node.Busy(), p.drainedByAdmin(node):
	case !wanted:
		p.add(DeleteNode, pod, WhyScaleIn)
	case p.misfit(set, node):
		p.add(DeleteNode, pod, WhyUpdate)
	case node.Is("DOWN") && failed(node) && p.Now.Sub(node.ReasonChangedAt.Time()) < set.Cloud.StartTimeout:
	case node.Is("DOWN") && !node.Ours() && !node.Silent() && !failed(node):
	case node.Is("POWERING_DOWN"):
		// Slurm may use it again, and need not wait until its own time for that is over.
		p.add(Resume, pod, WhySwitchedOff)
	case node.Is("DOWN"), node.Draining():
		// A resume would mark it as not responding (update_node's _require_node_reg).
		p.add(Admit, pod, WhySwitchedOff)
	case node.Is("IDLE") && node.Is("NOT_RESPONDING") && !node.Is("POWER_DOWN"):
		// From its next start or configuration on, Slurm would never switch it on (_build_bitmaps). Switching it off again
		// takes the mark away.
		p.add(PowerDown, pod, WhyNotResponding)
	}
}

// failed tells whether a node did not start in time, as we or Slurm found.
func failed(node *slurm.Node) bool {
	return strings.HasPrefix(node.Reason, contract.ReasonPrefix+WhyNotStarted) || node.FirstReason() == "ResumeTimeout reached"
}

// misfit tells whether Slurm was told something else of a node than what its pod will have.
func (p *planner) misfit(set Set, node *slurm.Node) bool {
	want := set.Cloud.Node
	features := slices.Sorted(slices.Values(node.Features))
	return int(node.CPUs) != want.CPUs || node.RealMemory != want.MemoryMB || node.Gres != want.Gres ||
		!slices.Equal(features, slices.Sorted(slices.Values(want.Features)))
}

// starting deals with a node that Slurm has switched on.
func (p *planner) starting(set Set, pod *place, node *slurm.Node) {
	since, seen := p.StartingSince[pod.Node]
	waited := p.Now.Sub(since)
	justRuns := pod.Running && p.Now.Sub(pod.RunningSince) < registerTime
	switch {
	case node.Is("DOWN"):
		if !node.Is("POWER_DOWN") && !p.drainedByAdmin(node) {
			p.add(PowerDown, pod, WhyNotStarted)
		}
	case seen && waited > set.Cloud.StartTimeout && !justRuns:
		p.add(Down, pod, WhyNotStarted)
	case !pod.exists:
		if node.Booting() {
			p.add(CreatePod, pod, WhySwitchedOn)
		}
	case pod.Leaving:
	case pod.Hash != set.Hash && pod.Stuck:
		p.add(DeletePod, pod, WhyUpdate)
	case pod.Running && seen && waited > registerTime && p.Now.Sub(pod.RunningSince) > registerTime:
		// It is from before the node was last switched off; Slurm waits for one that has just started.
		p.add(DeletePod, pod, WhyUnregistered)
	}
}

// on deals with a node that is there, and tells whether it stays.
func (p *planner) on(set Set, pod *place, node *slurm.Node, wanted bool) bool {
	switch {
	case !pod.exists || pod.Leaving && !pod.Lingers:
		switch emptied := node.Draining() && node.Ours() && !node.Busy(); {
		case !node.Down() && !emptied:
			p.add(Down, pod, WhyPodLost)
		case !node.Busy() && !node.Is("POWER_DOWN") && !p.drainedByAdmin(node): // switching it off would end the drain
			p.add(PowerDown, pod, WhyPodGone)
		}
		return false
	case pod.Leaving:
		if !node.Draining() && !node.Down() {
			p.add(Drain, pod, WhyPodGoing)
		}
		return false
	case p.dead(pod) || node.Is("POWER_DOWN"):
		return false
	case p.drainedByAdmin(node):
		return true
	case !wanted:
		p.switchOff(pod, node, WhyScaleIn)
		return false
	case pod.Cordoned:
		p.switchOff(pod, node, WhyCordoned)
		return false
	case node.Shrinks() || node.Unusable():
		p.switchOff(pod, node, WhyResize)
		return false
	case pod.Hash != set.Hash && (!node.Busy() || p.leavesFor(pod, WhyUpdate) || p.mayUpdate(set, pod)):
		p.switchOff(pod, node, WhyUpdate)
		return false
	case node.Ours() && node.Draining():
		p.add(Resume, pod, WhyStays)
	case node.Ours() && node.Is("DOWN") && pod.Running && !pod.Unreachable:
		p.add(Resume, pod, WhySlurmdBack)
	}
	return true
}

// mayUpdate tells whether a busy node of an older spec is among the first that may be drained now.
func (p *planner) mayUpdate(set Set, pod *place) bool {
	before, out := 0, 0
	for i := range p.places {
		other := &p.places[i]
		node := other.node
		switch {
		case other.Set != set.Name || other.Leaving || other.Hash == set.Hash || !node.On():
		case p.leavesFor(other, WhyUpdate):
			out++
		case node.Busy() && other.Index < pod.Index && !p.drainedByAdmin(node):
			before++
		}
	}
	return before+out < max(1, set.MaxUnavailable)
}

// switchOff takes a node from Slurm, once it runs nothing.
func (p *planner) switchOff(pod *place, node *slurm.Node, why string) {
	switch {
	case !node.Busy():
		p.add(PowerDown, pod, why)
	case !node.Draining() && !node.Down():
		p.add(Drain, pod, why)
	case pod.Late && node.Ours() && !node.Is("DOWN"):
		p.add(Down, pod, WhyLate)
	default:
		p.add(Wait, pod, WhyBusy)
	}
}

// switchOn switches nodes on that a set always wants, lowest index first.
func (p *planner) switchOn(set Set, missing int) {
	for index := 0; index < set.Cloud.Max && missing > 0; index++ {
		pod := p.place(set.Name, index)
		node, registered := pod.node, pod.registered
		if registered && node.Cloud() && node.Is("POWERED_DOWN") && node.Off() && !node.Is("DOWN") && !node.Draining() &&
			!pod.exists && !p.misfit(set, node) {
			p.add(PowerUp, pod, WhyMissing)
			missing--
		}
	}
}

package nodeplan

import (
	"cmp"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// remove takes a pod away, as far as that is safe now: drain, wait until it runs nothing, delete.
func (p *planner) remove(pod Pod, why string) {
	node, registered := p.nodes[pod.Node]
	switch {
	case !p.Known && !pod.Started:
		p.add(DeletePod, pod, why)
	case !p.Known:
		p.add(Wait, pod, WhyUnknown)
	case !registered:
		// A node registers drained, so even one that registers this moment runs nothing.
		p.add(DeletePod, pod, why)
	case p.drainedByAdmin(node):
		p.add(Wait, pod, WhyAdmin)
	case !node.Draining() && !node.Down():
		p.add(Drain, pod, why)
	case node.Busy():
		p.add(Wait, pod, WhyBusy)
	default:
		p.add(DeletePod, pod, why)
	}
}

// update looks after the pods that stay. Pods of an older spec that are of no use to Slurm are replaced all
// at once; the others one after the other, idle ones first, each after its predecessor is in use.
func (p *planner) update(set Set, staying []Pod) {
	next := p.nextToUpdate(set, staying)
	for _, pod := range staying {
		switch {
		case pod.Hash == set.Hash:
			p.keep(pod)
		case !p.useful(pod) || p.leavesForUpdate(pod) || pod.Node == next:
			p.remove(pod, WhyUpdate)
		default:
			p.keep(pod)
		}
	}
}

// nextToUpdate is the node to start updating now, or none as long as another is on its way out or in.
func (p *planner) nextToUpdate(set Set, staying []Pod) string {
	idle, busy := "", ""
	for _, pod := range p.Pods {
		if pod.Set == set.Name && pod.Leaving {
			return ""
		}
	}
	for _, pod := range staying {
		node := p.nodes[pod.Node]
		switch {
		case pod.Hash == set.Hash && !p.usable(pod), p.leavesForUpdate(pod):
			return ""
		case pod.Hash == set.Hash, !p.useful(pod), p.drainedByAdmin(node):
		case node.Busy() && busy == "":
			busy = pod.Node
		case !node.Busy() && idle == "":
			idle = pod.Node
		}
	}
	if len(staying) < set.Replicas || !p.Known {
		return ""
	}
	return cmp.Or(idle, busy)
}

// useful tells whether Slurm may know of a pod: as long as it cannot be asked, of any whose slurmd has run.
func (p *planner) useful(pod Pod) bool {
	_, registered := p.nodes[pod.Node]
	if p.Known {
		return registered
	}
	return pod.Started
}

func (p *planner) usable(pod Pod) bool {
	node, registered := p.nodes[pod.Node]
	return p.Known && registered && (node.Usable() || p.drainedByAdmin(node))
}

func (p *planner) leavesForUpdate(pod Pod) bool {
	node := p.nodes[pod.Node]
	return p.Known && node.Draining() && node.Reason == contract.ReasonPrefix+WhyUpdate
}

// keep brings a pod that stays into use. A node that registered has a slurmd, even if the kubelet has not
// told of it yet.
func (p *planner) keep(pod Pod) {
	node, registered := p.nodes[pod.Node]
	switch {
	case !p.Known:
	case !registered:
		if pod.Running && pod.Overdue {
			p.add(DeletePod, pod, WhyUnregistered)
		}
	case pod.Lost:
		if !node.Down() {
			p.add(Down, pod, WhySlurmdDown)
		}
	case node.Reason == contract.ReasonRegistering && node.Draining():
		p.add(Admit, pod, WhyRegistered)
	case resizes(node):
		p.resize(pod, node)
	case node.Ours() && node.Draining():
		p.add(Resume, pod, WhyStays)
	case node.Ours() && node.Is("DOWN") && pod.Running:
		p.add(Resume, pod, WhySlurmdBack)
	}
}

// create adds the pods that are missing, lowest free index first. An index is free when neither a pod nor
// a node of Slurm has its name: Slurm never updates a node that registers again under the same name. Only
// a node that an administrator drained is kept and registers again, because its drain would be lost.
func (p *planner) create(set Set, have int) {
	for index := 0; have < set.Replicas; index++ {
		pod := Pod{Node: nodeName(set.Name, index), Set: set.Name, Index: index}
		if existing, taken := p.pods[pod.Node]; taken {
			if existing.Leaving {
				have++ // its successor waits for the name
			}
			continue
		}
		have++
		if node, stale := p.nodes[pod.Node]; stale && p.Known && !p.drainedByAdmin(node) {
			continue // lost clears it away first
		}
		p.add(CreatePod, pod, WhyMissing)
	}
}

// lost tells Slurm at once about nodes whose pod is gone or going, so that their jobs run elsewhere.
func (p *planner) lost() {
	if !p.Known {
		p.deleteEnded()
		return
	}
	for _, node := range p.Nodes {
		pod, exists := p.pods[node.Name]
		if exists && !pod.Leaving {
			continue
		}
		set, index, ok := splitNodeName(node.Name)
		_, wanted := p.sets[set]
		if !ok || !exists && !wanted && !node.Ours() {
			continue // not a node of ours
		}
		gone := Pod{Node: node.Name, Set: set, Index: index}
		emptied := node.Draining() && node.Ours() && !node.Busy()
		switch {
		case !node.Down() && !emptied:
			p.add(Down, gone, WhyPodLost)
		case !exists && !node.Busy() && !p.drainedByAdmin(node):
			p.add(DeleteNode, gone, WhyPodGone)
		}
	}
	p.deleteEnded()
}

func (p *planner) deleteEnded() {
	for _, pod := range p.Pods {
		if pod.Ended {
			p.add(DeletePod, pod, WhyPodEnded)
		}
	}
}

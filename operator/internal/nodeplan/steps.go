package nodeplan

import (
	"slices"
)

// remove takes a pod away, as far as that is safe now: drain, wait until it runs nothing, delete.
func (p *planner) remove(pod *place, why string) {
	node, registered := pod.node, pod.registered
	switch {
	case !p.Known && (!pod.Started || p.New):
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
	case node.Busy() && pod.Late && node.Ours() && !node.Is("DOWN"):
		p.add(Down, pod, WhyLate)
	case node.Busy():
		p.add(Wait, pod, WhyBusy)
	default:
		p.add(DeletePod, pod, why)
	}
}

// update looks after the pods that stay. Pods of an older spec that are of no use to Slurm are replaced all
// at once; the others a few at a time, each after a predecessor is in use. Those on a machine that is to be emptied
// move.
func (p *planner) update(set Set, staying []*place) {
	next := p.nextToUpdate(set, staying)
	for _, pod := range staying {
		switch {
		case pod.Cordoned:
			p.remove(pod, WhyCordoned)
		case pod.Hash == set.Hash:
			p.keep(pod)
		case !p.useful(pod) || p.leavesFor(pod, WhyUpdate) || slices.Contains(next, pod.Node):
			p.remove(pod, WhyUpdate)
		default:
			p.keep(pod)
		}
	}
}

// nextToUpdate are the nodes to start updating now, as many as may be out besides those that are: idle ones first.
func (p *planner) nextToUpdate(set Set, staying []*place) []string {
	if !p.Known {
		return nil
	}
	out := set.Replicas - len(staying) // on their way out, and not yet made
	var idle, busy []string
	for _, pod := range staying {
		node := pod.node
		switch {
		case pod.Cordoned, p.leavesFor(pod, WhyUpdate), pod.Hash == set.Hash && !p.usable(pod):
			out++
		case pod.Hash == set.Hash, !p.useful(pod), p.drainedByAdmin(node):
		case node.Busy():
			busy = append(busy, pod.Node)
		default:
			idle = append(idle, pod.Node)
		}
	}
	candidates := slices.Concat(idle, busy)
	return candidates[:min(len(candidates), max(0, max(1, set.MaxUnavailable)-max(0, out)))]
}

// useful tells whether Slurm may know of a pod: as long as it cannot be asked, of any whose slurmd has run.
func (p *planner) useful(pod *place) bool {
	if p.Known {
		return pod.registered
	}
	return pod.Started
}

func (p *planner) usable(pod *place) bool {
	node, registered := pod.node, pod.registered
	return p.Known && registered && (node.Usable() || p.drainedByAdmin(node))
}

// dead tells whether a pod that is there runs nothing any more, and tells Slurm if that does not know.
func (p *planner) dead(pod *place) bool {
	node, registered := pod.node, pod.registered
	switch {
	case !registered:
		return false
	case pod.Lost:
		if !node.Down() {
			p.add(Down, pod, WhySlurmdDown)
		}
		return true
	case pod.Unreachable && node.Is("NOT_RESPONDING"):
		if !node.Is("DOWN") {
			p.add(Down, pod, WhyMachineLost)
		}
		return true
	}
	return false
}

// keep brings a pod that stays into use. A node that registered has a slurmd, even if the kubelet has not
// told of it yet.
func (p *planner) keep(pod *place) {
	node, registered := pod.node, pod.registered
	switch {
	case !p.Known:
	case !registered:
		if pod.Running && pod.Overdue {
			p.add(DeletePod, pod, WhyUnregistered)
		}
	case node.Registering():
		if !p.Gathers {
			p.add(Admit, pod, WhyRegistered)
		}
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
		pod := p.place(set.Name, index)
		if pod.exists {
			if pod.Leaving && !pod.Unreachable {
				have++ // its successor waits for the name
			}
			continue
		}
		have++
		if !p.Known && !p.New {
			p.add(Wait, pod, WhyUnknown) // it may still believe in an earlier pod of that name, and in its jobs
			continue
		}
		if pod.registered && p.Known && !p.drainedByAdmin(pod.node) {
			continue // lost clears it away first
		}
		p.add(CreatePod, pod, WhyMissing)
	}
}

// lost tells Slurm at once about nodes whose pod is gone, so that their jobs run elsewhere. A node whose pod is going
// takes no more jobs; those that it has may end in the time that Kubernetes gives.
func (p *planner) lost() {
	if !p.Known {
		p.deleteEnded()
		return
	}
	if p.settled == len(p.Nodes) {
		p.deleteEnded()
		return
	}
	for i := range p.Nodes {
		node := &p.Nodes[i]
		pod := p.placeOf(node.Name)
		exists := pod != nil
		if exists && !pod.Leaving {
			continue
		}
		set, index, ok := splitNodeName(node.Name)
		wantedSet, wanted := p.sets[set]
		if wantedSet.Cloud != nil {
			continue
		}
		if !ok || !exists && !wanted && !node.Ours() {
			continue // not a node of ours
		}
		gone := &place{Pod: &Pod{Node: node.Name, Set: set, Index: index}}
		if !exists {
			pod = gone
		}
		if silent := pod.Unreachable && node.Is("NOT_RESPONDING"); pod.Lingers && !silent {
			if !node.Draining() && !node.Down() {
				p.add(Drain, gone, WhyPodGoing)
			}
			continue
		}
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
	for i := range p.places {
		if pod := &p.places[i]; pod.Ended {
			p.add(DeletePod, pod, WhyPodEnded)
		}
	}
}

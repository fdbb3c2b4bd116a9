package nodeplan

import "github.com/slurmcluster/slurmcluster/operator/internal/slurm"

// planner makes one plan. A cluster may have thousands of nodes, so each is looked up once, and not copied.
type planner struct {
	Observation
	sets map[string]Set
	// places are those of Pods, in their order.
	places []place
	byName map[string]*place
	// settled is how many nodes that Slurm knows have a pod that does not leave.
	settled int
	steps   []Step
}

func newPlanner(o Observation) *planner {
	p := &planner{Observation: o, sets: map[string]Set{}, places: make([]place, len(o.Pods))}
	for _, s := range o.Sets {
		p.sets[s.Name] = s
	}
	if p.At == nil {
		p.At = make(map[string]int, len(o.Nodes))
		for i := range o.Nodes {
			p.At[o.Nodes[i].Name] = i
		}
	}
	for i := range o.Pods {
		pod := &o.Pods[i]
		p.places[i] = place{Pod: pod, exists: true, node: pod.Slurm, registered: true}
		if pod.Slurm == nil {
			p.places[i].node, p.places[i].registered = p.find(pod.Node)
		}
		if p.places[i].registered && !pod.Leaving {
			p.settled++
		}
	}
	return p
}

// place is what Kubernetes and Slurm know of one node.
type place struct {
	*Pod
	// exists tells whether there is a pod.
	exists bool
	// node is what Slurm knows, if registered.
	node       *slurm.Node
	registered bool
}

// noNode is what Slurm knows of a node that it does not know.
var noNode slurm.Node

// place is that of a node, which may have neither a pod nor be known to Slurm.
func (p *planner) place(set string, index int) *place {
	name := nodeName(set, index)
	if known := p.placeOf(name); known != nil {
		return known
	}
	free := &place{Pod: &Pod{Node: name, Set: set, Index: index}}
	free.node, free.registered = p.find(name)
	return free
}

// placeOf is the place of a node's pod, or nil.
func (p *planner) placeOf(name string) *place {
	if p.byName == nil {
		p.byName = make(map[string]*place, len(p.places))
		for i := range p.places {
			p.byName[p.places[i].Node] = &p.places[i]
		}
	}
	return p.byName[name]
}

// find finds the node of a name among Slurm's.
func (p *planner) find(name string) (node *slurm.Node, registered bool) {
	if at, registered := p.At[name]; registered {
		return &p.Nodes[at], true
	}
	return &noNode, false
}

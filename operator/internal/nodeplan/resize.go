package nodeplan

import (
	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// resizes tells whether a node that Slurm knows is to follow its container, which was resized in place, or was
// drained for that.
func resizes(node *slurm.Node) bool {
	return node.Wish() != "" || node.Draining() && node.Reason == contract.ReasonPrefix+WhyResize
}

// resize lets a node register with its new size. Slurm takes that only from a node it does not know, so the node has
// to be free first. One that has become smaller takes no more jobs until then. One that could be larger goes on with
// what it has until it happens to be free, unless that takes too long.
func (p *planner) resize(pod *place, node *slurm.Node) {
	wanted := node.Grows() || node.Shrinks()
	switch {
	case wanted && node.Is("INVALID_REG") && !node.Busy():
		// It has registered with less than Slurm knew, so Slurm has drained it.
		p.add(DeleteNode, pod, WhyResize)
	case p.drainedByAdmin(node):
		if wanted {
			p.add(Wait, pod, WhyAdmin)
		}
	case !wanted && !node.Unusable():
		p.add(Resume, pod, WhyStays)
	case !node.Draining() && node.Grows() && node.Busy() && !pod.Impatient:
		p.add(Wait, pod, WhyBusy)
	case !node.Draining() && !node.Down():
		p.add(Drain, pod, WhyResize)
	case node.Busy():
		p.add(Wait, pod, WhyBusy)
	case wanted:
		p.add(DeleteNode, pod, WhyResize)
	}
}

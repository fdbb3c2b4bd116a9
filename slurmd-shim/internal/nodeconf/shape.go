package nodeconf

import (
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// shape gives count of the granted CPUs a topology.
func shape(granted cpuset.CPUSet, count int, m machine.Machine) Node {
	if count < granted.Size() {
		// A quota says how much may run, not where: one socket of single-threaded cores promises no
		// neighbourhood that might not be there.
		return Node{CPUs: count, Boards: 1, SocketsPerBoard: 1, CoresPerSocket: count, ThreadsPerCore: 1}
	}
	if granted.Equals(m.Online) {
		if n, consistent := whole(m); consistent {
			return n
		}
	}
	return rectangle(granted, m)
}

// whole is what slurmd itself says of a machine (xcpuinfo.c), and whether its numbers fit together: it divides,
// and loses what is left over.
func whole(m machine.Machine) (Node, bool) {
	cpus := m.Online
	if fast := cpus.Difference(m.Efficient); !fast.IsEmpty() {
		cpus = fast // slurmd leaves the efficiency cores of a hybrid processor out
	}
	cores, packages := 0, map[int]bool{}
	for _, core := range m.Cores {
		if core.CPUs.IsSubsetOf(cpus) {
			cores++
			packages[core.Package] = true
		}
	}
	delete(packages, -1)
	sockets := len(packages)
	if sockets == 0 {
		sockets = max(1, len(m.Packages))
	}
	cores = max(1, cores)
	n := Node{
		CPUs: cpus.Size(), Boards: m.Boards, SocketsPerBoard: sockets / m.Boards,
		CoresPerSocket: cores / sockets, ThreadsPerCore: cpus.Size() / cores,
	}
	return n, n.Boards*n.SocketsPerBoard*n.CoresPerSocket*n.ThreadsPerCore == n.CPUs
}

// rectangle is the largest regular machine that fits into the granted CPUs: cores that have at least so many
// granted threads each, in as many sockets as hold the same number of them, else in one. Slurm knows no other
// shapes, and whatever is promised must be there: two threads of one core are not two cores.
func rectangle(granted cpuset.CPUSet, m machine.Machine) Node {
	type part struct{ pack, threads int }
	var parts []part
	rest := granted
	for _, core := range m.Cores {
		if n := core.CPUs.Intersection(granted).Size(); n > 0 {
			parts = append(parts, part{core.Package, n})
			rest = rest.Difference(core.CPUs)
		}
	}
	for range rest.Size() { // of no core that is known
		parts = append(parts, part{-1, 1})
	}
	var best Node
	for threads := 1; threads <= granted.Size(); threads++ {
		cores, perPackage := 0, map[int]int{}
		for _, p := range parts {
			if p.threads >= threads {
				cores++
				perPackage[p.pack]++
			}
		}
		if cores*threads > best.CPUs {
			sockets := sameEverywhere(perPackage)
			best = Node{CPUs: cores * threads, Boards: 1, SocketsPerBoard: sockets, CoresPerSocket: cores / sockets, ThreadsPerCore: threads}
		}
		if cores == 0 {
			break
		}
	}
	return best
}

// sameEverywhere counts the packages if each has as many cores as the others, and is 1 otherwise.
func sameEverywhere(cores map[int]int) int {
	var first int
	for pack, n := range cores {
		if first == 0 {
			first = n
		}
		if pack == -1 || n != first {
			return 1
		}
	}
	return len(cores)
}

// whyFewer says why not all CPUs of a machine are offered.
func whyFewer(m machine.Machine) string {
	if !m.Efficient.IsEmpty() {
		return "they are efficiency cores, or cores that differ from the others in their number of threads, and Slurm's nodes are regular"
	}
	return "their cores have fewer threads than the others, and Slurm's nodes are regular"
}

package nodeconf

import (
	"fmt"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// bound is a node whose tasks Slurm's task/affinity binds: the whole machine, because slurmd looks CPUs up in it,
// less what is not granted, as CPUSpecList. It also returns how many CPUs jobs may use.
//
// Slurm numbers CPUs in its own way: cores by socket and position in it, and the threads of a core one after the
// other (xcpuinfo.c). It sets whole cores aside, so a core of which not all threads are granted is not offered.
func bound(granted cpuset.CPUSet, count int, l limits.Limits, m machine.Machine) (Node, int, error) {
	if err := exclusive(granted, count, l, m); err != nil {
		return Node{}, 0, err
	}
	n, _ := whole(m)
	numbers, why := coreNumbers(n, m)
	if why != "" {
		return n, 0, notBound(why)
	}
	var aside []int
	offered := 0
	for i, core := range m.Cores {
		if core.CPUs.IsSubsetOf(granted) {
			offered += n.ThreadsPerCore
			continue
		}
		for thread := range n.ThreadsPerCore {
			aside = append(aside, numbers[i]*n.ThreadsPerCore+thread)
		}
	}
	if offered == 0 {
		return n, 0, notBound(fmt.Sprintf("of no core all %d threads are in the cpuset %s", n.ThreadsPerCore, granted))
	}
	n.CPUSpecList = cpuset.New(aside...).String()
	return n, offered, nil
}

// exclusive finds out whether the CPUs are this pod's own. The kubelet's static CPU manager gives a pod a part of
// the machine, and either no quota or one as large; pods with a share of CPUs have a quota below their cpuset, or
// no cpuset.
func exclusive(granted cpuset.CPUSet, count int, l limits.Limits, m machine.Machine) error {
	switch {
	case count < granted.Size():
		return notBound(fmt.Sprintf("there is a quota of %d CPUs on the CPUs %s, so they are shared with other pods", count, granted))
	case l.Cpuset.IsEmpty() || granted.Equals(m.Online):
		return notBound("the cpuset is the whole machine, so its CPUs are shared with other pods")
	}
	return nil
}

func notBound(why string) error {
	return fmt.Errorf("%w: taskBinding: Cores needs CPUs of the pod's own, and %s; give the kubelet cpuManagerPolicy: static, "+
		"or leave taskBinding out", ErrUnusable, why)
}

// Package nodeconf decides what Slurm is told about a node: what the kernel grants, in Slurm's terms.
// It is pure: no files, no clock, no logger.
package nodeconf

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// ErrUnusable is in the chain of Derive's errors: no node can be made from what is granted.
var ErrUnusable = errors.New("no usable node")

const (
	mib = 1 << 20
	// minMemory is the smallest limit that leaves jobs as much as it reserves.
	minMemory = 2 * contract.LeastReserve
)

// Options change how limits become a node.
type Options struct {
	// RoundUp makes a quota below one CPU count as one CPU instead of being refused.
	RoundUp bool
	// Bind is for nodes whose tasks Slurm binds to cores: it needs CPUs of one's own.
	Bind bool
	// Gres are the generic resources to offer.
	Gres []GresRequest
}

// Node is what Slurm is told. The five topology numbers belong together: slurmd replaces all of what it
// found when one of them is given.
type Node struct {
	CPUs            int   `json:"cpus"`
	Boards          int   `json:"boards"`
	SocketsPerBoard int   `json:"socketsPerBoard"`
	CoresPerSocket  int   `json:"coresPerSocket"`
	ThreadsPerCore  int   `json:"threadsPerCore"`
	RealMemoryMB    int64 `json:"realMemoryMB"`
	// CPUSpecList lists CPUs, in Slurm's numbering, that jobs may not use.
	CPUSpecList string `json:"cpuSpecList"`
	// Gres is Slurm's list of generic resources.
	Gres string `json:"gres"`
	// GresConf are the lines of the node's own gres.conf.
	GresConf []string `json:"gresConf,omitempty"`
}

// Derive returns the node that l leaves of m, and warnings about what was lost on the way. Its errors are
// sentences that wrap ErrUnusable.
func Derive(l limits.Limits, m machine.Machine, o Options) (Node, []string, error) {
	warnings := slices.Concat(l.Warnings, m.Warnings)
	granted, count, more, err := grant(l, m, o)
	warnings = append(warnings, more...)
	if err != nil {
		return Node{}, warnings, err
	}
	memory, err := realMemory(l, m)
	if err != nil {
		return Node{}, warnings, err
	}
	n, offered := shape(granted, count, m), 0
	if o.Bind {
		if n, offered, err = bound(granted, count, l, m); err != nil {
			return Node{}, warnings, err
		}
	} else {
		offered = n.CPUs
	}
	n.RealMemoryMB = memory
	devices, more, err := gres(o.Gres, n, granted, m)
	if err != nil {
		return Node{}, warnings, err
	}
	warnings = append(warnings, more...)
	n.Gres, n.GresConf = list(devices), conf(devices, m)
	if offered < count {
		warnings = append(warnings, fmt.Sprintf("%d of %d CPUs are not offered: %s", count-offered, count, whyFewer(m)))
	}
	return n, warnings, nil
}

// grant returns the CPUs that may be used, and how many of them at a time.
func grant(l limits.Limits, m machine.Machine, o Options) (cpuset.CPUSet, int, []string, error) {
	granted := m.Online
	if !l.Cpuset.IsEmpty() {
		granted = granted.Intersection(l.Cpuset)
	}
	if granted.IsEmpty() {
		return granted, 0, nil, fmt.Errorf("%w: none of the CPUs %s of the cpuset is online (online: %s)", ErrUnusable, l.Cpuset, m.Online)
	}
	var warnings []string
	if allowed := granted.Intersection(l.Affinity); !allowed.IsEmpty() && !allowed.Equals(granted) {
		warnings = append(warnings, fmt.Sprintf("this process may only run on the CPUs %s of %s, by its affinity", allowed, granted))
		granted = allowed
	}
	if l.QuotaCPUs == nil || *l.QuotaCPUs >= float64(granted.Size()) {
		return granted, granted.Size(), warnings, nil
	}
	quota := *l.QuotaCPUs
	switch {
	case quota < 1 && !o.RoundUp:
		return granted, 0, warnings, fmt.Errorf("%w: the CPU limit is %.3g and Slurm counts whole CPUs: give the pod a CPU limit of at least 1, or pass --round-up", ErrUnusable, quota)
	case quota < 1:
		return granted, 1, append(warnings, fmt.Sprintf("the CPU limit of %.3g is rounded up: jobs see 1 CPU and get %.0f%% of it", quota, quota*100)), nil
	case quota != math.Floor(quota):
		warnings = append(warnings, fmt.Sprintf("the CPU limit of %.4g is rounded down: Slurm counts whole CPUs", quota))
	}
	return granted, int(quota), warnings, nil
}

// realMemory returns what jobs may use, in MiB. It is never above the machine's own, because slurmd
// measures that itself and slurmctld drains a node that has less than it claims.
func realMemory(l limits.Limits, m machine.Machine) (int64, error) {
	switch total := m.MemoryBytes; {
	case l.MemoryBytes != nil && (total == 0 || *l.MemoryBytes < total):
	case total == 0:
		return 1, nil // Slurm's default
	default:
		return int64(total / mib), nil
	}
	limit := *l.MemoryBytes
	if limit < minMemory {
		return 0, fmt.Errorf("%w: the memory limit is %d MiB and the daemons take %d of it: give the pod a memory limit of at least %d MiB",
			ErrUnusable, limit/mib, contract.LeastReserve/mib, minMemory/mib)
	}
	return contract.NodeMemoryMB(int64(limit)), nil
}

// Conf returns the node in the syntax of slurmd's --conf.
func (n Node) Conf() string {
	conf := fmt.Sprintf("CPUs=%d Boards=%d SocketsPerBoard=%d CoresPerSocket=%d ThreadsPerCore=%d RealMemory=%d",
		n.CPUs, n.Boards, n.SocketsPerBoard, n.CoresPerSocket, n.ThreadsPerCore, n.RealMemoryMB)
	if n.CPUSpecList != "" {
		conf += " CPUSpecList=" + n.CPUSpecList
	}
	if n.Gres != "" {
		conf += " Gres=" + n.Gres
	}
	return conf
}

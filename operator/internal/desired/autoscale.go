package desired

import (
	"fmt"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Default times of Autoscale.
const (
	defaultIdleTimeout  = 5 * time.Minute
	defaultStartTimeout = 5 * time.Minute
)

// resumeMargin is how much longer than the operator Slurm waits for a node: the operator knows why it does not come.
const resumeMargin = time.Minute

// IdleTimeout is how long a node of an autoscaled set stays without jobs.
func IdleTimeout(a v1alpha1.Autoscale) time.Duration {
	if a.IdleTimeout == nil {
		return defaultIdleTimeout
	}
	return a.IdleTimeout.Duration
}

// StartTimeout is how long a node of an autoscaled set may take to start.
func StartTimeout(a v1alpha1.Autoscale) time.Duration {
	if a.StartTimeout == nil {
		return defaultStartTimeout
	}
	return a.StartTimeout.Duration
}

// resumeSeconds is how long Slurm is to wait for any node that it powers up; 0 if it powers up none.
func resumeSeconds(sets []v1alpha1.NodeSet) int64 {
	var longest time.Duration
	for _, s := range sets {
		if s.Autoscale != nil {
			longest = max(longest, StartTimeout(*s.Autoscale)+resumeMargin)
		}
	}
	return int64(longest / time.Second)
}

// CloudNode is what Slurm is told of the nodes of an autoscaled set before they exist: what slurmd-shim will find, which
// for nodes without CPUs of their own follows from the limits.
func CloudNode(set v1alpha1.NodeSet) contract.CloudNodes {
	n := contract.CloudNodes{
		CPUs:     max(1, int(set.Resources.CPU.MilliValue()/1000)),
		MemoryMB: contract.NodeMemoryMB(set.Resources.Memory.Value()),
		Features: strings.Split(features(set), ","),
	}
	var list []string
	for _, g := range gresOf(set) {
		list = append(list, fmt.Sprintf("%s:%d", g.name, g.count))
	}
	n.Gres = strings.Join(list, ",")
	return n
}

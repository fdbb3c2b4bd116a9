package nodeconf

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// anyMachine is a machine that may be irregular: sparse numbers, cores of several kinds, CPUs of no core.
func anyMachine(r *rand.Rand) machine.Machine {
	m := machine.Machine{Boards: 1, NUMANodes: 1, MemoryBytes: r.Uint64N(1 << 40)}
	cpu, all, slow := r.IntN(3), []int{}, []int{}
	for pack := range r.IntN(4) {
		var inPackage []int
		for range 1 + r.IntN(5) {
			var inCore []int
			for range 1 + r.IntN(3) {
				inCore = append(inCore, cpu)
				cpu += 1 + r.IntN(2)
			}
			m.Cores = append(m.Cores, machine.Core{CPUs: cpuset.New(inCore...), Package: pack})
			inPackage = append(inPackage, inCore...)
			if r.IntN(4) == 0 {
				slow = append(slow, inCore...)
			}
		}
		m.Packages = append(m.Packages, cpuset.New(inPackage...))
		all = append(all, inPackage...)
	}
	for range r.IntN(2) {
		all = append(all, cpu)
		cpu++
	}
	if len(all) == 0 {
		all = []int{0}
	}
	if r.IntN(4) == 0 {
		m.Boards = 1 + r.IntN(3)
	}
	m.Online, m.Efficient = cpuset.New(all...), cpuset.New(slow...)
	return m
}

func anyLimits(r *rand.Rand, m machine.Machine) limits.Limits {
	var l limits.Limits
	if r.IntN(2) == 0 {
		cpus := r.Float64() * float64(m.Online.Size()+2)
		l.QuotaCPUs = &cpus
	}
	if r.IntN(2) == 0 {
		bytes := r.Uint64N(1 << r.IntN(42))
		l.MemoryBytes = &bytes
	}
	for _, set := range []*cpuset.CPUSet{&l.Cpuset, &l.Affinity} {
		if r.IntN(2) == 0 {
			var some []int
			for _, cpu := range m.Online.List() {
				if r.IntN(2) == 0 {
					some = append(some, cpu)
				}
			}
			*set = cpuset.New(some...)
		}
	}
	return l
}

// FuzzDerive: whatever the machine and its limits, a node has a regular shape and promises no more CPUs, cores,
// sockets or memory than there are.
func FuzzDerive(f *testing.F) {
	for seed := range uint64(2000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := anyMachine(r)
		l := anyLimits(r, m)
		n, _, err := Derive(l, m, Options{RoundUp: r.IntN(2) == 0})
		if err != nil {
			require.True(t, errors.Is(err, ErrUnusable), err)
			return
		}
		granted := m.Online
		if !l.Cpuset.IsEmpty() {
			granted = granted.Intersection(l.Cpuset)
		}
		require.Positive(t, n.CPUs)
		require.Equal(t, n.CPUs, n.Boards*n.SocketsPerBoard*n.CoresPerSocket*n.ThreadsPerCore)
		require.LessOrEqual(t, n.CPUs, granted.Size())
		if l.QuotaCPUs != nil {
			require.LessOrEqual(t, float64(n.CPUs), max(1, *l.QuotaCPUs))
		}
		if limited := l.QuotaCPUs != nil && *l.QuotaCPUs < float64(granted.Size()); !limited && len(m.Cores) > 0 {
			cores := granted
			count := 0
			for _, core := range m.Cores {
				if !core.CPUs.Intersection(granted).IsEmpty() {
					count++
				}
				cores = cores.Difference(core.CPUs)
			}
			require.LessOrEqual(t, n.Boards*n.SocketsPerBoard*n.CoresPerSocket, count+cores.Size())
			require.LessOrEqual(t, n.Boards*n.SocketsPerBoard, m.Sockets())
		}
		require.Positive(t, n.RealMemoryMB)
		if m.MemoryBytes >= mib {
			require.LessOrEqual(t, n.RealMemoryMB, int64(m.MemoryBytes/mib))
		}
		if l.MemoryBytes != nil {
			require.LessOrEqual(t, n.RealMemoryMB, max(1, int64(*l.MemoryBytes/mib)))
		}
	})
}

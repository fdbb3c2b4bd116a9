package nodeconf

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// big is a machine of 2 sockets, 4 cores each, 2 threads each, and 64 GiB. The second threads come after all
// the first ones, as usual: CPU 9 is the sibling of CPU 1.
func big() machine.Machine {
	m := machine.Machine{NUMANodes: 2, Boards: 1, MemoryBytes: 64 << 30}
	for pack := range 2 {
		var cpus []int
		for core := range 4 {
			first := 4*pack + core
			m.Cores = append(m.Cores, machine.Core{CPUs: cpuset.New(first, first+8), Package: pack})
			cpus = append(cpus, first, first+8)
		}
		m.Packages = append(m.Packages, cpuset.New(cpus...))
		m.Online = m.Online.Union(cpuset.New(cpus...))
	}
	return m
}

func quota(cpus float64) *float64 { return &cpus }
func memory(b uint64) *uint64     { return &b }

func flat(cpus int, mib int64) Node {
	return Node{CPUs: cpus, Boards: 1, SocketsPerBoard: 1, CoresPerSocket: cpus, ThreadsPerCore: 1, RealMemoryMB: mib}
}

func TestDerive(t *testing.T) {
	whole := Node{CPUs: 16, Boards: 1, SocketsPerBoard: 2, CoresPerSocket: 4, ThreadsPerCore: 2, RealMemoryMB: 65536}
	irregular := big() // a thread of the first core is offline
	irregular.Online = irregular.Online.Difference(cpuset.New(8))
	irregular.Cores[0].CPUs = cpuset.New(0)
	shaped := func(sockets, cores, threads int) Node {
		return Node{CPUs: sockets * cores * threads, Boards: 1, SocketsPerBoard: sockets, CoresPerSocket: cores, ThreadsPerCore: threads, RealMemoryMB: 65536}
	}
	for name, c := range map[string]struct {
		limits   limits.Limits
		machine  machine.Machine
		options  Options
		want     Node
		warnings []string
	}{
		"neither": {machine: big(), want: whole},
		"neither, cores that differ": {
			machine: irregular, want: shaped(1, 7, 2),
			warnings: []string{"1 of 15 CPUs are not offered: their cores have fewer threads than the others, and Slurm's nodes are regular"},
		},
		"quota only":        {limits: limits.Limits{QuotaCPUs: quota(4)}, machine: big(), want: flat(4, 65536)},
		"quota of one":      {limits: limits.Limits{QuotaCPUs: quota(1)}, machine: big(), want: flat(1, 65536)},
		"quota above":       {limits: limits.Limits{QuotaCPUs: quota(64)}, machine: big(), want: whole},
		"cpuset only":       {limits: limits.Limits{Cpuset: cpuset.New(1, 2, 3)}, machine: big(), want: flat(3, 65536)},
		"one thread":        {limits: limits.Limits{Cpuset: cpuset.New(9)}, machine: big(), want: flat(1, 65536)},
		"a core":            {limits: limits.Limits{Cpuset: cpuset.New(1, 9)}, machine: big(), want: shaped(1, 1, 2)},
		"a socket":          {limits: limits.Limits{Cpuset: big().Packages[1]}, machine: big(), want: shaped(1, 4, 2)},
		"two cores of each": {limits: limits.Limits{Cpuset: cpuset.New(0, 1, 4, 5, 8, 9, 12, 13)}, machine: big(), want: shaped(2, 2, 2)},
		"first threads":     {limits: limits.Limits{Cpuset: cpuset.New(0, 1, 2, 3, 4, 5, 6, 7)}, machine: big(), want: shaped(2, 4, 1)},
		"three cores and one": {
			limits: limits.Limits{Cpuset: cpuset.New(0, 1, 2, 8, 9, 10, 4, 12)}, machine: big(), want: shaped(1, 4, 2),
		},
		"a core and a thread": {
			limits: limits.Limits{Cpuset: cpuset.New(0, 8, 1)}, machine: big(), want: flat(2, 65536),
			warnings: []string{"1 of 3 CPUs are not offered: their cores have fewer threads than the others, and Slurm's nodes are regular"},
		},
		"affinity": {
			limits: limits.Limits{Affinity: cpuset.New(0, 8)}, machine: big(), want: shaped(1, 1, 2),
			warnings: []string{"this process may only run on the CPUs 0,8 of 0-15, by its affinity"},
		},
		"affinity of a process elsewhere": {limits: limits.Limits{Affinity: cpuset.New(99)}, machine: big(), want: whole},
		"cpuset of all":                   {limits: limits.Limits{Cpuset: big().Online}, machine: big(), want: whole},
		"cpuset beyond":                   {limits: limits.Limits{Cpuset: cpuset.New(15, 16, 17)}, machine: big(), want: flat(1, 65536)},
		"both, quota less":                {limits: limits.Limits{QuotaCPUs: quota(2), Cpuset: cpuset.New(1, 2, 3)}, machine: big(), want: flat(2, 65536)},
		"both, cpuset less":               {limits: limits.Limits{QuotaCPUs: quota(8), Cpuset: cpuset.New(1, 2, 3)}, machine: big(), want: flat(3, 65536)},
		"quota with a fraction": {
			limits: limits.Limits{QuotaCPUs: quota(2.5)}, machine: big(), want: flat(2, 65536),
			warnings: []string{"the CPU limit of 2.5 is rounded down: Slurm counts whole CPUs"},
		},
		"quota below one, rounded up": {
			limits: limits.Limits{QuotaCPUs: quota(0.25)}, machine: big(), options: Options{RoundUp: true}, want: flat(1, 65536),
			warnings: []string{"the CPU limit of 0.25 is rounded up: jobs see 1 CPU and get 25% of it"},
		},
		"warnings of the limits are kept": {
			limits: limits.Limits{Warnings: []string{"w"}}, machine: big(), want: whole, warnings: []string{"w"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, warnings, err := Derive(c.limits, c.machine, c.options)
			require.NoError(t, err)
			require.Equal(t, c.want, n)
			require.Equal(t, c.warnings, warnings)
		})
	}
}

func TestDeriveMemory(t *testing.T) {
	for name, c := range map[string]struct {
		limit   *uint64
		machine uint64
		want    int64
	}{
		"no limit":                     {nil, 64 << 30, 65536},
		"no limit, odd machine":        {nil, 64<<30 + 1<<19, 65536},
		"512 MiB less the reserve":     {memory(512 << 20), 64 << 30, 480},
		"smallest":                     {memory(64 << 20), 64 << 30, 32},
		"large: one part in a hundred": {memory(32 << 30), 64 << 30, 32440},
		"limit above the machine":      {memory(128 << 30), 64 << 30, 65536},
		"limit is the machine":         {memory(64 << 30), 64 << 30, 65536},
	} {
		t.Run(name, func(t *testing.T) {
			m := big()
			m.MemoryBytes = c.machine
			n, _, err := Derive(limits.Limits{MemoryBytes: c.limit}, m, Options{})
			require.NoError(t, err)
			require.Equal(t, c.want, n.RealMemoryMB)
		})
	}
}

func TestDeriveUnusable(t *testing.T) {
	for want, l := range map[string]limits.Limits{
		"the CPU limit is 0.1 and Slurm counts whole CPUs: give the pod a CPU limit of at least 1":                 {QuotaCPUs: quota(0.1)},
		"none of the CPUs 40-41 of the cpuset is online (online: 0-15)":                                            {Cpuset: cpuset.New(40, 41)},
		"the memory limit is 63 MiB and the daemons take 32 of it: give the pod a memory limit of at least 64 MiB": {MemoryBytes: memory(64<<20 - 1)},
	} {
		_, _, err := Derive(l, big(), Options{})
		require.ErrorIs(t, err, ErrUnusable)
		require.ErrorContains(t, err, want)
	}
}

func TestConf(t *testing.T) {
	require.Equal(t, "CPUs=3 Boards=1 SocketsPerBoard=1 CoresPerSocket=3 ThreadsPerCore=1 RealMemory=480", flat(3, 480).Conf())
}

// TestBound: Slurm's numbers count the threads of a core one after the other, whatever the kernel's are.
func TestBound(t *testing.T) {
	whole := Node{CPUs: 16, Boards: 1, SocketsPerBoard: 2, CoresPerSocket: 4, ThreadsPerCore: 2, RealMemoryMB: 65536}
	odd := big()
	odd.Cores[7].CPUs = cpuset.New(7)
	odd.Online = odd.Online.Difference(cpuset.New(15))
	sparse := big()
	sparse.Online = sparse.Online.Difference(cpuset.New(0, 8))
	sparse.Cores, sparse.Packages = sparse.Cores[4:], sparse.Packages[1:]
	sparse.Online = sparse.Packages[0]
	for i := range sparse.Cores {
		sparse.Cores[i].Package = 0
	}
	for name, c := range map[string]struct {
		limits     limits.Limits
		machine    machine.Machine
		aside, err string
	}{
		"two cores":           {limits: limits.Limits{Cpuset: cpuset.New(1, 9, 4, 12)}, machine: big(), aside: "0-1,4-7,10-15"},
		"with quota as large": {limits: limits.Limits{Cpuset: cpuset.New(0, 8), QuotaCPUs: quota(2)}, machine: big(), aside: "2-15"},
		"a core and a thread": {limits: limits.Limits{Cpuset: cpuset.New(1, 9, 4)}, machine: big(), aside: "0-1,4-15"},
		"quota":               {limits: limits.Limits{QuotaCPUs: quota(4)}, machine: big(), err: "there is a quota of 4 CPUs on the CPUs 0-15, so they are shared"},
		"shared pool":         {limits: limits.Limits{Cpuset: cpuset.New(1, 9, 4, 12), QuotaCPUs: quota(2)}, machine: big(), err: "there is a quota of 2 CPUs on the CPUs 1,4,9,12"},
		"no cpuset":           {machine: big(), err: "the cpuset is the whole machine"},
		"threads only":        {limits: limits.Limits{Cpuset: cpuset.New(0, 1)}, machine: big(), err: "of no core all 2 threads are in the cpuset 0-1"},
		"irregular":           {limits: limits.Limits{Cpuset: cpuset.New(1, 9)}, machine: odd, err: "the machine is not regular"},
		"sparse":              {limits: limits.Limits{Cpuset: cpuset.New(4, 12)}, machine: sparse, err: "CPUs are numbered up to 15 and only 8 are online"},
	} {
		t.Run(name, func(t *testing.T) {
			n, _, err := Derive(c.limits, c.machine, Options{Bind: true})
			if c.err != "" {
				require.ErrorIs(t, err, ErrUnusable)
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			want := whole
			want.CPUSpecList = c.aside
			require.Equal(t, want, n)
			require.Contains(t, n.Conf(), " CPUSpecList="+c.aside)
		})
	}
}

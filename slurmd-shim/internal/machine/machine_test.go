package machine

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/testtree"
)

// tree returns an archive of a machine whose CPUs have the given package and core numbers.
func tree(cpus [][2]int, more string) string {
	var b, info strings.Builder
	for i, c := range cpus {
		fmt.Fprintf(&b, "-- sys/devices/system/cpu/cpu%d/topology/physical_package_id --\n%d\n", i, c[0])
		fmt.Fprintf(&b, "-- sys/devices/system/cpu/cpu%d/topology/core_id --\n%d\n", i, c[1])
		fmt.Fprintf(&info, "processor\t: %d\nmodel name\t: Example\n\n", i)
	}
	return b.String() + "-- proc/cpuinfo --\n" + info.String() + more
}

const gib = "-- proc/meminfo --\nMemTotal:        1048576 kB\nMemFree: 1 kB\n"

func TestRead(t *testing.T) {
	two := [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 0}, {0, 1}, {1, 0}, {1, 1}}
	for name, c := range map[string]struct {
		tree                          string
		sockets, cores, threads, numa int
		online                        string
	}{
		"two sockets with threads": {
			tree(two, gib+"-- sys/devices/system/cpu/online --\n0-7\n-- sys/devices/system/node/online --\n0-1\n"), 2, 4, 8, 2, "0-7",
		},
		"no list of online CPUs": {tree(two, gib), 2, 4, 8, 1, "0-7"},
		"cores that differ": {
			tree([][2]int{{0, 0}, {0, 0}, {0, 1}}, gib+"-- sys/devices/system/cpu/online --\n0-2\n"), 1, 2, 3, 1, "0-2",
		},
		"sockets that differ": {
			tree([][2]int{{0, 0}, {1, 0}, {1, 1}}, gib+"-- sys/devices/system/cpu/online --\n0-2\n"), 2, 3, 3, 1, "0-2",
		},
		"no topology": {
			"-- sys/devices/system/cpu/online --\n0-3\n-- proc/cpuinfo --\n\n" + gib, 1, 0, 4, 1, "0-3",
		},
		"offline CPU": {
			tree([][2]int{{0, 0}, {0, 1}}, gib+"-- sys/devices/system/cpu/cpu1/online --\n0\n-- sys/devices/system/cpu/online --\n0\n"), 1, 1, 1, 1, "0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Read(testtree.Unpack(t, []byte(c.tree)))
			require.NoError(t, err)
			require.Equal(t, []int{c.sockets, c.cores, c.threads, c.numa}, []int{m.Sockets(), len(m.Cores), m.Threads(), m.NUMANodes})
			require.Equal(t, c.online, m.Online.String())
			require.Equal(t, uint64(1<<30), m.MemoryBytes)
		})
	}
}

func TestReadErrors(t *testing.T) {
	one := [][2]int{{0, 0}}
	for want, archive := range map[string]string{
		"find the online CPUs: read":                                 gib,
		`/sys/devices/system/cpu/online holds "x", expected a list`:  tree(one, gib+"-- sys/devices/system/cpu/online --\nx\n"),
		`/sys/devices/system/node/online holds "x", expected a list`: tree(one, gib+"-- sys/devices/system/node/online --\nx\n"),
		"/proc/meminfo has no line MemTotal: <number> kB":            tree(one, "-- proc/meminfo --\nMemFree: 1 kB\n"),
		"/proc/meminfo has no line MemTotal: <number>":               tree(one, "-- proc/meminfo --\nMemTotal: 99999999999999999999 kB\n"),
	} {
		t.Run(want, func(t *testing.T) {
			_, err := Read(testtree.Unpack(t, []byte(archive)))
			require.ErrorContains(t, err, want)
		})
	}
}

// TestSiblings: the kernel's masks count, whatever the numbers of cores and packages are.
func TestSiblings(t *testing.T) {
	cpu := func(n int, core, pack string) string {
		dir := fmt.Sprintf("-- sys/devices/system/cpu/cpu%d/topology/", n)
		return dir + "thread_siblings --\n" + core + "\n" + dir + "core_siblings --\n" + pack + "\n" + dir + "core_id --\n0\n" + dir + "physical_package_id --\n0\n"
	}
	m, err := Read(testtree.Unpack(t, []byte(cpu(0, "5", "5")+cpu(1, "a", "a")+cpu(2, "5", "5")+cpu(3, "a", "a")+gib)))
	require.NoError(t, err)
	require.Len(t, m.Packages, 2)
	require.Equal(t, []Core{{cpuset.New(0, 2), 0}, {cpuset.New(1, 3), 1}}, m.Cores)

	_, err = Read(testtree.Unpack(t, []byte(cpu(0, "nonsense", "1")+gib)))
	require.ErrorContains(t, err, `cpu0/topology/thread_siblings holds "nonsense", expected a mask`)
}

func TestMemory(t *testing.T) {
	one := tree([][2]int{{0, 0}}, "")
	m, err := Read(testtree.Unpack(t, []byte(one+"-- proc/meminfo --\nMemTotal: 1000 kB\nHugetlb: 400 kB\n")))
	require.NoError(t, err)
	require.Equal(t, uint64(600<<10), m.MemoryBytes, "huge pages are for those who ask for them")

	m, err = Read(testtree.Unpack(t, []byte(one+"-- sys/devices/system/node/node0/meminfo --\nNode 0 MemTotal: 300 kB\n-- sys/devices/system/node/node1/meminfo --\nNode 1 MemTotal: 200 kB\n")))
	require.NoError(t, err)
	require.Equal(t, uint64(500<<10), m.MemoryBytes)
	require.Equal(t, 2, m.NUMANodes)

	m, err = Read(testtree.Unpack(t, []byte(one)))
	require.NoError(t, err)
	require.Contains(t, m.Warnings, "the machine's memory is not known: there is no /proc/meminfo")
}

// FuzzRead feeds the files that are parsed here.
func FuzzRead(f *testing.F) {
	f.Add("0-3", "0-1", "MemTotal: 4 kB", "f", "10 20 20 10", "0-1")
	f.Add("", "", "MemTotal:", "1,00000000", "x", "")
	f.Fuzz(func(t *testing.T, cpus, nodes, mem, mask, distances, fast string) {
		files := fstest.MapFS{}
		for name, content := range map[string]string{
			onlineCPUs: cpus, onlineNodes: nodes, meminfo: mem, "/sys/devices/cpu_core/cpus": fast,
			nodeDir + "/node0/cpumap": mask, nodeDir + "/node1/cpulist": cpus, nodeDir + "/node0/distance": distances, nodeDir + "/node1/distance": distances,
			cpuDir + "/cpu0/topology/core_cpus": mask, cpuDir + "/cpu1/topology/package_cpus": mask, cpuDir + "/cpu1/topology/core_id": cpus,
		} {
			files[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(content)}
		}
		m, err := readBelow(files, true)
		if err == nil && (m.Threads() < 1 || m.NUMANodes < 1 || m.Boards < 1 || m.Sockets() < 1) {
			t.Errorf("%+v is no machine", m)
		}
	})
}

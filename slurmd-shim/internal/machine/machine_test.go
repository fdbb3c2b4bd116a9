package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		regular                       bool
		online                        string
	}{
		"two sockets with threads": {
			tree(two, gib+"-- sys/devices/system/cpu/online --\n0-7\n-- sys/devices/system/node/online --\n0-1\n"), 2, 4, 8, 2, true, "0-7",
		},
		"no list of online CPUs": {tree(two, gib), 2, 4, 8, 1, true, "0-7"},
		"cores that differ": {
			tree([][2]int{{0, 0}, {0, 0}, {0, 1}}, gib+"-- sys/devices/system/cpu/online --\n0-2\n"), 1, 2, 3, 1, false, "0-2",
		},
		"sockets that differ": {
			tree([][2]int{{0, 0}, {1, 0}, {1, 1}}, gib+"-- sys/devices/system/cpu/online --\n0-2\n"), 2, 3, 3, 1, false, "0-2",
		},
		"no topology": {
			"-- sys/devices/system/cpu/online --\n0-3\n-- proc/cpuinfo --\n\n" + gib, 1, 4, 4, 1, true, "0-3",
		},
		"offline CPU": {
			tree([][2]int{{0, 0}, {0, 1}}, gib+"-- sys/devices/system/cpu/cpu1/online --\n0\n-- sys/devices/system/cpu/online --\n0\n"), 1, 1, 1, 1, true, "0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Read(testtree.Unpack(t, []byte(c.tree)))
			require.NoError(t, err)
			require.Equal(t, []int{c.sockets, c.cores, c.threads, c.numa}, []int{m.Sockets, m.Cores, m.Threads, m.NUMANodes})
			require.Equal(t, c.regular, m.Regular)
			require.Equal(t, c.online, m.Online.String())
			require.Equal(t, uint64(1<<30), m.MemoryBytes)
		})
	}
}

func TestReadErrors(t *testing.T) {
	one := [][2]int{{0, 0}}
	for want, archive := range map[string]string{
		"find the online CPUs: open":                                   gib,
		`/sys/devices/system/cpu/online holds "x\n", expected a CPU`:   tree(one, gib+"-- sys/devices/system/cpu/online --\nx\n"),
		`/sys/devices/system/node/online holds "x\n", expected a list`: tree(one, gib+"-- sys/devices/system/node/online --\nx\n"),
		"read /proc/meminfo: open":                                     tree(one, ""),
		"/proc/meminfo has no line MemTotal: <number> kB":              tree(one, "-- proc/meminfo --\nMemFree: 1 kB\n"),
		"/proc/meminfo: MemTotal: strconv.ParseUint":                   tree(one, "-- proc/meminfo --\nMemTotal: 99999999999999999999 kB\n"),
	} {
		t.Run(want, func(t *testing.T) {
			_, err := Read(testtree.Unpack(t, []byte(archive)))
			require.ErrorContains(t, err, want)
		})
	}
}

// FuzzRead feeds the files that are parsed here.
func FuzzRead(f *testing.F) {
	root := testtree.Unpack(f, []byte(tree([][2]int{{0, 0}}, "-- sys/devices/system/node/x --\n")))
	f.Add("0-3", "0-1", "MemTotal: 4 kB", "processor : 0\n\n")
	f.Add("", "", "MemTotal:", "processor : x")
	f.Fuzz(func(t *testing.T, cpus, nodes, mem, info string) {
		for name, content := range map[string]string{onlineCPUs: cpus, onlineNodes: nodes, meminfo: mem, "proc/cpuinfo": info} {
			require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
		}
		m, err := Read(root)
		if err == nil && (m.Threads < 1 || m.Online.Size() != m.Threads || m.NUMANodes < 1) {
			t.Errorf("%+v is no machine", m)
		}
	})
}

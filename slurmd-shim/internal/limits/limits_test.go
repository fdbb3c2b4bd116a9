package limits

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/testtree"
)

const (
	mountV2 = "30 24 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	mountV1 = "31 24 0:31 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n" +
		"32 24 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n" +
		"33 24 0:33 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
	ownV1 = "3:cpu:/\n2:memory:/\n1:cpuset:/\n"
)

func read(t testing.TB, archive string) (Limits, error) {
	return Read(Options{Root: testtree.Unpack(t, []byte(archive))})
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		tree          string
		quota         float64
		cpuset        string
		memory        uint64
		warningsAbout string
	}{
		"v2 without limits": {
			tree: "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n" + mountV2 +
				"-- sys/fs/cgroup/cpu.max --\nmax 100000\n-- sys/fs/cgroup/memory.max --\nmax\n",
		},
		"v2 quota of half a CPU with a period of its own": {
			tree:  "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n" + mountV2 + "-- sys/fs/cgroup/cpu.max --\n25000 50000\n",
			quota: 0.5,
		},
		"v2 cpuset that was asked for where none is effective": {
			tree:   "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n" + mountV2 + "-- sys/fs/cgroup/cpuset.cpus --\n1,3-4\n",
			cpuset: "1,3-4",
		},
		"v2 tightest ancestor wins": {
			tree: "-- proc/self/cgroup --\n0::/a/b/c\n-- proc/self/mountinfo --\n" + mountV2 +
				"-- sys/fs/cgroup/a/cpu.max --\n300000 100000\n-- sys/fs/cgroup/a/memory.max --\n100\n-- sys/fs/cgroup/a/cpuset.cpus.effective --\n0-3\n" +
				"-- sys/fs/cgroup/a/b/cpu.max --\n100000 100000\n-- sys/fs/cgroup/a/b/memory.max --\n200\n" +
				"-- sys/fs/cgroup/a/b/c/cpu.max --\n200000 100000\n-- sys/fs/cgroup/a/b/c/memory.max --\nmax\n-- sys/fs/cgroup/a/b/c/cpuset.cpus.effective --\n2-5\n",
			quota: 1, memory: 100, cpuset: "2-3",
		},
		"v2 a partition's CPUs are missing from its ancestors": {
			tree: "-- proc/self/cgroup --\n0::/part/job\n-- proc/self/mountinfo --\n" + mountV2 +
				"-- sys/fs/cgroup/cpuset.cpus.effective --\n0-1\n-- sys/fs/cgroup/part/cpuset.cpus.effective --\n2-7\n" +
				"-- sys/fs/cgroup/part/job/cpuset.cpus.effective --\n4-5\n",
			cpuset: "4-5",
		},
		"v2 soft memory limit below the hard one": {
			tree: "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n" + mountV2 +
				"-- sys/fs/cgroup/memory.max --\n9000\n-- sys/fs/cgroup/memory.high --\n8000\n",
			memory: 8000,
		},
		"captured without its cgroups": {tree: "-- proc/meminfo --\n", warningsAbout: "no cgroup hierarchy with the memory controller"},
		"captured without its mounts, v2": {
			tree:   "-- sys/fs/cgroup/cgroup.controllers --\ncpu\n-- sys/fs/cgroup/memory.max --\n7000\n",
			memory: 7000,
		},
		"captured without its mounts, v1": {
			tree:  "-- sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us --\n50000\n-- sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us --\n25000\n-- sys/fs/cgroup/memory/memory.limit_in_bytes --\n7000\n-- sys/fs/cgroup/cpuset/cpuset.cpus --\n1\n",
			quota: 2, memory: 7000, cpuset: "1",
		},
		"a mount that was not captured": {
			tree:          "-- proc/self/cgroup --\n0::/a\n-- proc/self/mountinfo --\n" + mountV2,
			warningsAbout: "no cgroup hierarchy with the memory controller",
		},
		"v1 without limits": {
			tree: "-- proc/self/cgroup --\n" + ownV1 + "-- proc/self/mountinfo --\n" + mountV1 +
				"-- sys/fs/cgroup/cpu/cpu.cfs_quota_us --\n-1\n-- sys/fs/cgroup/cpu/cpu.cfs_period_us --\n100000\n" +
				"-- sys/fs/cgroup/memory/memory.limit_in_bytes --\n9223372036854771712\n-- sys/fs/cgroup/cpuset/cpuset.cpus --\n\n",
		},
		"v1 no limit on a kernel with 64 KiB pages": {
			tree: "-- proc/self/cgroup --\n" + ownV1 + "-- proc/self/mountinfo --\n" + mountV1 +
				"-- sys/fs/cgroup/memory/memory.limit_in_bytes --\n9223372036854710272\n-- sys/fs/cgroup/cpu/x --\n-- sys/fs/cgroup/cpuset/x --\n",
		},
		"v1 limit of an ancestor that is hidden shows in memory.stat": {
			tree: "-- proc/self/cgroup --\n" + ownV1 + "-- proc/self/mountinfo --\n" + mountV1 +
				"-- sys/fs/cgroup/memory/memory.limit_in_bytes --\n5000\n-- sys/fs/cgroup/memory/memory.stat --\ncache 1\nhierarchical_memory_limit 3000\n" +
				"-- sys/fs/cgroup/cpu/x --\n-- sys/fs/cgroup/cpuset/x --\n",
			memory: 3000,
		},
		"path of another namespace's view": {
			tree: "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n30 24 0:26 /kubepods/pod1/ctr /sys/fs/cgroup ro - cgroup2 cgroup rw\n" +
				"-- sys/fs/cgroup/memory.max --\n7000\n",
			memory: 7000,
		},
		"host's hierarchy mounted into a cgroup namespace": {
			tree: "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n30 24 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n" +
				"-- sys/fs/cgroup/memory.max --\n7000\n",
			memory: 7000, warningsAbout: "cgroup / is not visible below /sys/fs/cgroup",
		},
		"a sibling whose name starts alike is not an ancestor": {
			tree: "-- proc/self/cgroup --\n0::/pod10\n-- proc/self/mountinfo --\n30 24 0:26 /pod1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n" +
				"-- sys/fs/cgroup/0/memory.max --\n1\n-- sys/fs/cgroup/memory.max --\n9000\n",
			memory: 9000, warningsAbout: "cgroup /pod10 is not visible",
		},
		"the mount that holds the cgroup is taken": {
			tree: "-- proc/self/cgroup --\n0::/a\n-- proc/self/mountinfo --\n" + mountV2 + "31 24 0:26 /other /mnt/cgroup ro - cgroup2 cgroup rw\n" +
				"-- sys/fs/cgroup/a/memory.max --\n4000\n-- mnt/cgroup/memory.max --\n1\n",
			memory: 4000,
		},
		"controllers that are not mounted": {
			tree:          "-- proc/self/cgroup --\n1:cpu:/\n-- proc/self/mountinfo --\n1 0 0:1 / / rw - ext4 none rw\n",
			warningsAbout: "no cgroup hierarchy with the memory controller is mounted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := read(t, c.tree)
			require.NoError(t, err)
			if c.quota == 0 {
				require.Nil(t, l.QuotaCPUs)
			} else {
				require.Equal(t, c.quota, *l.QuotaCPUs)
			}
			if c.memory == 0 {
				require.Nil(t, l.MemoryBytes)
			} else {
				require.Equal(t, c.memory, *l.MemoryBytes)
			}
			require.Equal(t, c.cpuset, l.Cpuset.String())
			if c.warningsAbout == "" {
				require.Empty(t, l.Warnings)
			} else {
				require.Contains(t, l.Warnings[len(l.Warnings)-1], c.warningsAbout)
			}
		})
	}
}

// TestReadErrors: each error names the file and, when it is malformed, what was in it.
func TestReadErrors(t *testing.T) {
	v2 := "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\n" + mountV2
	v1 := "-- proc/self/cgroup --\n" + ownV1 + "-- proc/self/mountinfo --\n" + mountV1 + "-- sys/fs/cgroup/memory/x --\n-- sys/fs/cgroup/cpu/x --\n-- sys/fs/cgroup/cpuset/x --\n"
	for want, tree := range map[string]string{
		`parse /proc/self/cgroup: invalid cgroup entry: "nonsense"`:  "-- proc/self/cgroup --\nnonsense\n-- proc/self/mountinfo --\n",
		`parse /proc/self/mountinfo: parsing 'short' failed`:         "-- proc/self/cgroup --\n0::/\n-- proc/self/mountinfo --\nshort\n",
		`/sys/fs/cgroup/cpu.max holds "1 2 3", expected "max" or a`:  v2 + "-- sys/fs/cgroup/cpu.max --\n1 2 3\n",
		`/sys/fs/cgroup/cpu.max holds "-5 100000", expected`:         v2 + "-- sys/fs/cgroup/cpu.max --\n-5 100000\n",
		`/sys/fs/cgroup/cpu.max holds "100000 0", expected`:          v2 + "-- sys/fs/cgroup/cpu.max --\n100000 0\n",
		`/sys/fs/cgroup/memory.max holds "lots", expected a number`:  v2 + "-- sys/fs/cgroup/memory.max --\nlots\n",
		`cpuset.cpus.effective holds "0-x", expected a CPU list`:     v2 + "-- sys/fs/cgroup/cpuset.cpus.effective --\n0-x\n",
		`cpuset.cpus.effective holds "0-99999999", expected`:         v2 + "-- sys/fs/cgroup/cpuset.cpus.effective --\n0-99999999\n",
		`read /sys/fs/cgroup/cpuset.cpus: `:                          v2 + "-- sys/fs/cgroup/cpuset.cpus/dir --\n",
		`read /sys/fs/cgroup/cpu.max: `:                              v2 + "-- sys/fs/cgroup/cpu.max/dir --\n",
		`cpu.cfs_quota_us with cpu.cfs_period_us holds "5 ", expect`: v1 + "-- sys/fs/cgroup/cpu/cpu.cfs_quota_us --\n5\n",
		`read /sys/fs/cgroup/cpu/cpu.cfs_period_us: `:                v1 + "-- sys/fs/cgroup/cpu/cpu.cfs_quota_us --\n5\n-- sys/fs/cgroup/cpu/cpu.cfs_period_us/dir --\n",
		`memory.limit_in_bytes holds "?", expected a number`:         v1 + "-- sys/fs/cgroup/memory/memory.limit_in_bytes --\n?\n",
		`read /sys/fs/cgroup/memory/memory.limit_in_bytes: `:         v1 + "-- sys/fs/cgroup/memory/memory.limit_in_bytes/dir --\n",
		`memory.stat holds "?", expected a number of bytes`:          v1 + "-- sys/fs/cgroup/memory/memory.stat --\nhierarchical_memory_limit ?\n",
		`read /sys/fs/cgroup/memory/memory.stat: `:                   v1 + "-- sys/fs/cgroup/memory/memory.stat/dir --\n",
	} {
		t.Run(want, func(t *testing.T) {
			_, err := read(t, tree)
			require.ErrorContains(t, err, want)
		})
	}
}

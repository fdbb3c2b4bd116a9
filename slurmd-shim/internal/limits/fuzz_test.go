package limits

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// readFiles reads the limits of a machine that has these files; those of one cgroup are below it.
func readFiles(files map[string]string) (Limits, error) {
	root := fstest.MapFS{"sys/fs/cgroup/a": {Mode: fs.ModeDir}}
	for name, content := range files {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return readBelow(root, "", true)
}

// checkSane fails when limits that were read say something that no kernel means.
func checkSane(t *testing.T, l Limits, err error) {
	t.Helper()
	if err != nil {
		return
	}
	if l.QuotaCPUs != nil && *l.QuotaCPUs <= 0 {
		t.Errorf("quota of %g CPUs", *l.QuotaCPUs)
	}
	if l.MemoryBytes != nil && *l.MemoryBytes >= unlimitedV1 {
		t.Errorf("memory limit of %d bytes", *l.MemoryBytes)
	}
}

// FuzzFilesV2 feeds the files of one v2 cgroup.
func FuzzFilesV2(f *testing.F) {
	f.Add("max 100000", "max", "0-3")
	f.Add("150000 100000", "536870912", "0-1,8")
	f.Add("1", "-1", "3-1")
	f.Fuzz(func(t *testing.T, cpu, memory, cpus string) {
		l, err := readFiles(map[string]string{
			"proc/self/cgroup": "0::/", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/cpu.max": cpu, "sys/fs/cgroup/memory.max": memory, "sys/fs/cgroup/cpuset.cpus.effective": cpus,
		})
		checkSane(t, l, err)
	})
}

// FuzzFilesV1 feeds the files of one cgroup in three v1 hierarchies.
func FuzzFilesV1(f *testing.F) {
	f.Add("-1", "100000", "9223372036854771712", "hierarchical_memory_limit 4096", "0-3")
	f.Add("0", "0", "", "hierarchical_memory_limit", ",")
	f.Fuzz(func(t *testing.T, quota, period, memory, stat, cpus string) {
		l, err := readFiles(map[string]string{
			"proc/self/cgroup": ownV1, "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": quota, "sys/fs/cgroup/cpu/cpu.cfs_period_us": period,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": memory, "sys/fs/cgroup/memory/memory.stat": stat,
			"sys/fs/cgroup/cpuset/cpuset.cpus": cpus,
		})
		checkSane(t, l, err)
	})
}

// FuzzProc feeds /proc/self/cgroup and /proc/self/mountinfo.
func FuzzProc(f *testing.F) {
	f.Add("0::/a/../b", mountV2)
	f.Add(ownV1, mountV1)
	f.Add("0::/../x\n4:memory:/y", "30 24 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n"+mountV1)
	f.Fuzz(func(t *testing.T, own, mounts string) {
		l, err := readFiles(map[string]string{
			"proc/self/cgroup": own, "proc/self/mountinfo": mounts,
			"sys/fs/cgroup/memory.max": "4096", "sys/fs/cgroup/a/cpu.max": "5 10",
		})
		checkSane(t, l, err)
	})
}

package limits

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
)

// unlimitedV1 is where memory.limit_in_bytes stops being a limit: the kernel writes "no limit" as the
// largest multiple of the page size below 2^63, which differs between page sizes.
const unlimitedV1 = 1 << 60

// quotaV1 reads cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us.
func quotaV1(l level, out *Limits) error {
	quota, err := l.read("cpu.cfs_quota_us")
	if err != nil || quota == "" || quota == "-1" {
		return err
	}
	period, err := l.read("cpu.cfs_period_us")
	if err != nil {
		return err
	}
	cpus, ok := ratio(quota, period)
	if !ok {
		return kernel.Malformed(l.path("cpu.cfs_quota_us")+" with cpu.cfs_period_us", quota+" "+period, "two counts of microseconds, or -1")
	}
	out.lowerQuota(cpus)
	return nil
}

// quotaV2 reads cpu.max: "<quota or max> <period>".
func quotaV2(l level, out *Limits) error {
	content, err := l.read("cpu.max")
	if err != nil || content == "" {
		return err
	}
	quota, period, _ := strings.Cut(content, " ")
	if quota == "max" {
		return nil
	}
	cpus, ok := ratio(quota, period)
	if !ok {
		return kernel.Malformed(l.path("cpu.max"), content, `"max" or a count of microseconds, then a period`)
	}
	out.lowerQuota(cpus)
	return nil
}

// ratio returns quota/period when both are positive whole numbers.
func ratio(quota, period string) (float64, bool) {
	q, errQ := strconv.ParseUint(quota, 10, 63)
	p, errP := strconv.ParseUint(period, 10, 63)
	if errQ != nil || errP != nil || q == 0 || p == 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}

// cpusetV1 prefers the effective set, which leaves out CPUs that are offline.
func cpusetV1(l level, out *Limits) error {
	return firstCpuset(l, out, "cpuset.effective_cpus", "cpuset.cpus")
}

func cpusetV2(l level, out *Limits) error {
	return firstCpuset(l, out, "cpuset.cpus.effective", "cpuset.cpus")
}

// firstCpuset narrows by the first of the files that holds anything. One that holds nothing is a v2
// "cpuset.cpus" that was never set, or a v1 cpuset that nothing can run in; neither is a limit that this process
// can be under. The CPUs of a partition (cpuset.cpus.partition) are missing from the sets of its ancestors, so
// an ancestor that shares no CPU with what is below it takes nothing away.
func firstCpuset(l level, out *Limits, names ...string) error {
	for _, name := range names {
		content, err := l.read(name)
		if err != nil {
			return err
		}
		if content == "" {
			continue
		}
		set, err := kernel.ParseCPUList(content)
		if err != nil {
			return kernel.Malformed(l.path(name), content, "a CPU list such as 0-3,8")
		}
		if out.Cpuset.IsEmpty() {
			out.Cpuset = set
		} else if common := out.Cpuset.Intersection(set); !common.IsEmpty() {
			out.Cpuset = common
		}
		return nil
	}
	return nil
}

const procStatus = "/proc/self/status"

// affinity reads Cpus_allowed_list; without the file there is none.
func affinity(root fs.FS) (cpuset.CPUSet, error) {
	content, err := kernel.ReadFile(root, procStatus)
	if errors.Is(err, fs.ErrNotExist) {
		return cpuset.CPUSet{}, nil
	}
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	for line := range strings.Lines(content) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			set, err := kernel.ParseCPUList(strings.TrimSpace(list))
			if err != nil {
				return cpuset.CPUSet{}, kernel.Malformed(procStatus, line, "a CPU list such as 0-3,8")
			}
			return set, nil
		}
	}
	return cpuset.CPUSet{}, nil
}

// memoryV1 reads memory.limit_in_bytes, and the tightest limit of all ancestors from memory.stat, which
// shows it even when a cgroup namespace or the mount hides them.
func memoryV1(l level, out *Limits) error {
	limit, err := l.read("memory.limit_in_bytes")
	if err != nil {
		return err
	}
	stat, err := l.read("memory.stat")
	if err != nil {
		return err
	}
	for line := range strings.Lines(stat) {
		if v, ok := strings.CutPrefix(line, "hierarchical_memory_limit "); ok {
			if err := lowerBytes(l.path("memory.stat"), strings.TrimSpace(v), out); err != nil {
				return err
			}
		}
	}
	return lowerBytes(l.path("memory.limit_in_bytes"), limit, out)
}

// memoryV2 reads memory.max and memory.high ("max": none). Above memory.high the kernel slows a cgroup down
// until it hardly moves, so jobs cannot have more than that either.
func memoryV2(l level, out *Limits) error {
	for _, name := range []string{"memory.max", "memory.high"} {
		limit, err := l.read(name)
		if err != nil {
			return err
		}
		if limit == "max" {
			continue
		}
		if err := lowerBytes(l.path(name), limit, out); err != nil {
			return err
		}
	}
	return nil
}

func lowerBytes(path, content string, out *Limits) error {
	if content == "" || content == "-1" {
		return nil
	}
	bytes, err := strconv.ParseUint(content, 10, 64)
	if err != nil {
		return kernel.Malformed(path, content, "a number of bytes")
	}
	if bytes < unlimitedV1 {
		out.lowerMemory(bytes)
	}
	return nil
}

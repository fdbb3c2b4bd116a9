package limits

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"
)

// unlimitedV1 is where memory.limit_in_bytes stops being a limit: the kernel writes "no limit" as the
// largest multiple of the page size below 2^63, which differs between page sizes.
const unlimitedV1 = 1 << 60

// cpuset.Parse takes whatever range it is given, so that a damaged file could ask for billions of CPUs.
// The kernel's largest NR_CPUS is 8192.
const maxCPU = 1 << 16

// readFile returns the trimmed content of a file below root.
func readFile(root fs.FS, path string) (string, error) {
	b, err := fs.ReadFile(root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return strings.TrimSpace(string(b)), nil
}

func malformed(path, content, want string) error {
	return fmt.Errorf("%s holds %q, expected %s", path, content, want)
}

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
		return malformed(l.path("cpu.cfs_quota_us")+" with cpu.cfs_period_us", quota+" "+period, "two counts of microseconds, or -1")
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
		return malformed(l.path("cpu.max"), content, `"max" or a count of microseconds, then a period`)
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

// firstCpuset narrows by the first of the files that holds anything.
func firstCpuset(l level, out *Limits, names ...string) error {
	for _, name := range names {
		content, err := l.read(name)
		if err != nil {
			return err
		}
		if content == "" {
			continue
		}
		set, err := ParseCPUList(content)
		if err != nil {
			return malformed(l.path(name), content, "a CPU list such as 0-3,8")
		}
		out.narrowCpuset(set)
		return nil
	}
	return nil
}

// ParseCPUList reads the kernel's list format ("0-3,8"); the empty list is the empty set.
func ParseCPUList(s string) (cpuset.CPUSet, error) {
	for _, number := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '-' }) {
		if n, err := strconv.Atoi(number); err != nil || n > maxCPU {
			return cpuset.CPUSet{}, fmt.Errorf("CPU list %q: %q is not a CPU number", s, number)
		}
	}
	return cpuset.Parse(s)
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

// memoryV2 reads memory.max ("max": none).
func memoryV2(l level, out *Limits) error {
	limit, err := l.read("memory.max")
	if err != nil || limit == "max" {
		return err
	}
	return lowerBytes(l.path("memory.max"), limit, out)
}

func lowerBytes(path, content string, out *Limits) error {
	if content == "" || content == "-1" {
		return nil
	}
	bytes, err := strconv.ParseUint(content, 10, 64)
	if err != nil {
		return malformed(path, content, "a number of bytes")
	}
	if bytes < unlimitedV1 {
		out.lowerMemory(bytes)
	}
	return nil
}

// Package limits reads what the kernel lets this process use: CFS quota, cpuset and memory limit, from
// cgroup v1, v2 and hybrid hierarchies, with and without a cgroup namespace.
package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
)

// Limits are the tightest limits among a cgroup and the ancestors that are visible from here.
type Limits struct {
	// QuotaCPUs is quota divided by period, in CPUs; nil when there is no CFS quota.
	QuotaCPUs *float64
	// Cpuset holds the CPUs that the cgroup may run on; empty when no cpuset controller is visible.
	Cpuset cpuset.CPUSet
	// Affinity holds the CPUs that the scheduler lets this process run on (taskset, systemd's CPUAffinity,
	// isolcpus); empty when that is not known.
	Affinity cpuset.CPUSet
	// MemoryBytes is the memory limit, hard or soft (memory.high), whichever is lower; nil when there is none.
	MemoryBytes *uint64
	// Warnings are sentences about what could not be seen.
	Warnings []string
}

// Options say whose limits to read.
type Options struct {
	// Root is the directory below which /proc and /sys are read; "/" is this machine.
	Root string
	// Cgroup is the path of a cgroup, from the top of its hierarchy or with the mount point in front;
	// empty means the cgroup that Root's /proc/self/cgroup names.
	Cgroup string
}

// Read returns the limits of the cgroup that o names. Its errors name the file that is missing, cannot be
// read or is malformed, and what was in it.
func Read(o Options) (Limits, error) {
	// A captured process is the one that captured, and where it ran says nothing about others.
	own := o.Root == "/" && o.Cgroup == ""
	return readBelow(os.DirFS(o.Root), o.Cgroup, own)
}

// readBelow is Read on a file system, which in fuzz tests is in memory. own tells that it is about this process.
func readBelow(root fs.FS, cgroup string, own bool) (Limits, error) {
	hs, err := findHierarchies(root, cgroup)
	if err != nil {
		return Limits{}, err
	}
	var l Limits
	if own {
		if l.Affinity, err = affinity(root); err != nil {
			return Limits{}, err
		}
	}
	for _, read := range []struct {
		controller string
		v1, v2     func(level, *Limits) error
	}{
		{"cpu", quotaV1, quotaV2},
		{"cpuset", cpusetV1, cpusetV2},
		{"memory", memoryV1, memoryV2},
	} {
		h, ok := hs[read.controller]
		if !ok {
			l.Warnings = append(l.Warnings, fmt.Sprintf("no cgroup hierarchy with the %s controller is mounted", read.controller))
			continue
		}
		if h.warning != "" && !slices.Contains(l.Warnings, h.warning) {
			l.Warnings = append(l.Warnings, h.warning)
		}
		f := read.v1
		if h.unified {
			f = read.v2
		}
		for _, dir := range h.levels {
			if err := f(level{root, dir}, &l); err != nil {
				return Limits{}, err
			}
		}
	}
	return l, nil
}

// level is one directory of a hierarchy: the cgroup itself or one of its ancestors.
type level struct {
	root fs.FS
	dir  string
}

// read returns the trimmed content of a file of the level; a file that is not there is "", because the
// kernel leaves out files of controllers that are not enabled and most files of the root cgroup.
func (l level) read(name string) (string, error) {
	s, err := kernel.ReadFile(l.root, l.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return s, err
}

func (l level) path(name string) string { return path.Join(l.dir, name) }

func (l *Limits) lowerQuota(cpus float64) {
	if l.QuotaCPUs == nil || cpus < *l.QuotaCPUs {
		l.QuotaCPUs = &cpus
	}
}

func (l *Limits) lowerMemory(bytes uint64) {
	if l.MemoryBytes == nil || bytes < *l.MemoryBytes {
		l.MemoryBytes = &bytes
	}
}

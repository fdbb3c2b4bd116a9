// Package machine reads the shape of the computer that this process runs on: sockets, cores, threads,
// NUMA nodes and memory, whatever share of it a container has.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/jaypipes/ghw"
	"github.com/jaypipes/ghw/pkg/cpu"
	"k8s.io/utils/cpuset"
)

const (
	onlineCPUs  = "/sys/devices/system/cpu/online"
	onlineNodes = "/sys/devices/system/node/online"
	meminfo     = "/proc/meminfo"
)

// Machine counts what is online.
type Machine struct {
	Sockets, Cores int
	// Threads is the number of online logical CPUs.
	Threads   int
	NUMANodes int
	// Regular says that every socket has as many cores, and every core as many threads, as the others.
	Regular bool
	// Online holds the numbers of the online logical CPUs.
	Online cpuset.CPUSet
	// MemoryBytes is the memory that the kernel manages (MemTotal).
	MemoryBytes uint64
}

// Read returns the machine whose /proc and /sys are below root. Its errors name the file that is missing
// or malformed.
func Read(root string) (Machine, error) {
	info, err := ghw.CPU(ghw.WithChroot(root), ghw.WithDisableTools(), ghw.WithDisableWarnings())
	if err != nil {
		return Machine{}, fmt.Errorf("read the processors below %s: %w", root, err)
	}
	var m Machine
	m.count(info.Processors)
	if m.Online, err = online(root, info.Processors); err != nil {
		return Machine{}, err
	}
	if m.Threads != m.Online.Size() {
		m.flatten()
	}
	if m.MemoryBytes, err = memTotal(root); err != nil {
		return Machine{}, err
	}
	m.NUMANodes, err = numaNodes(root)
	return m, err
}

// count adds up the processors and sees whether they are alike.
func (m *Machine) count(processors []*cpu.Processor) {
	m.Regular = len(processors) > 0
	for _, p := range processors {
		m.Sockets++
		m.Cores += len(p.Cores)
		m.Regular = m.Regular && len(p.Cores) == len(processors[0].Cores)
		for _, c := range p.Cores {
			m.Threads += len(c.LogicalProcessors)
			m.Regular = m.Regular && len(c.LogicalProcessors) == len(processors[0].Cores[0].LogicalProcessors)
		}
	}
}

// flatten makes each online CPU a core of one socket. It is for sandboxes (gVisor) and small boards whose
// /sys has no topology, and for machines whose /proc/cpuinfo does not list every CPU that is online.
func (m *Machine) flatten() {
	m.Threads = m.Online.Size()
	m.Sockets, m.Cores, m.Regular = 1, m.Threads, true
}

// online reads the list of online CPUs; snapshots of ghw lack it, and there every listed CPU counts.
func online(root string, processors []*cpu.Processor) (cpuset.CPUSet, error) {
	b, err := os.ReadFile(filepath.Join(root, onlineCPUs))
	if err == nil {
		set, err := cpuset.Parse(strings.TrimSpace(string(b)))
		if err != nil || set.IsEmpty() {
			return set, fmt.Errorf("%s holds %q, expected a CPU list such as 0-3", onlineCPUs, b)
		}
		return set, nil
	}
	var all []int
	for _, p := range processors {
		for _, c := range p.Cores {
			all = append(all, c.LogicalProcessors...)
		}
	}
	if len(all) == 0 {
		return cpuset.CPUSet{}, fmt.Errorf("find the online CPUs: %w", err)
	}
	return cpuset.New(all...), nil
}

// numaNodes counts the online NUMA nodes, 1 where the kernel has no NUMA support. ghw.Topology is not
// used: it wants caches, distances and memory of each node, and leaves out nodes where one is missing.
func numaNodes(root string) (int, error) {
	b, err := os.ReadFile(filepath.Join(root, onlineNodes))
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the NUMA nodes: %w", err)
	}
	set, err := cpuset.Parse(strings.TrimSpace(string(b)))
	if err != nil || set.IsEmpty() {
		return 0, fmt.Errorf("%s holds %q, expected a list of nodes such as 0-1", onlineNodes, b)
	}
	return set.Size(), nil
}

var memTotalLine = regexp.MustCompile(`(?m)^MemTotal:\s*([0-9]+) kB$`)

// memTotal reads MemTotal, from which the C library derives the pages that slurmd multiplies up.
func memTotal(root string) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(root, meminfo))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", meminfo, err)
	}
	match := memTotalLine.FindSubmatch(b)
	if match == nil {
		return 0, fmt.Errorf("%s has no line MemTotal: <number> kB", meminfo)
	}
	kib, err := strconv.ParseUint(string(match[1]), 10, 53)
	if err != nil {
		return 0, fmt.Errorf("%s: MemTotal: %w", meminfo, err)
	}
	return kib << 10, nil
}

// Package machine reads the shape of the computer that this process runs on: packages, cores, threads, NUMA
// nodes and memory, whatever share of it a container has.
//
// It numbers things as hwloc does, because slurmd uses hwloc: the kernel's sibling masks say what belongs
// together, the lowest CPU says in which order. ghw is not asked for cores; docs/reference/machine.md says why.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/jaypipes/ghw"
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

const (
	cpuDir     = "/sys/devices/system/cpu"
	onlineCPUs = cpuDir + "/online"
	meminfo    = "/proc/meminfo"
)

// Machine is what is online.
type Machine struct {
	// Packages holds the CPUs of each package (what Slurm calls a socket), by lowest CPU. Empty where the kernel
	// tells of none.
	Packages []cpuset.CPUSet
	// Cores are the cores by lowest CPU. Empty where the kernel tells of none.
	Cores []Core
	// Online holds the numbers of the online logical CPUs.
	Online cpuset.CPUSet
	// Efficient holds the efficiency cores' CPUs of a hybrid processor, which slurmd leaves out.
	Efficient cpuset.CPUSet
	// NUMANodes counts the NUMA nodes, those without CPUs or memory as well; 1 where the kernel has no NUMA
	// support.
	NUMANodes int
	// Boards counts what slurmd takes for boards: groups of packages, as far as the kernel tells of any.
	Boards int
	// MemoryBytes is the memory that the kernel manages (MemTotal) less reserved huge pages, which only
	// programs that ask for them can use; 0 when it is not known.
	MemoryBytes uint64
	// GPUs are those whose device files are there.
	GPUs []GPU
	// Warnings are sentences about what could not be seen.
	Warnings []string

	own bool
}

// Core is a physical core.
type Core struct {
	// CPUs are its online hardware threads.
	CPUs cpuset.CPUSet
	// Package is an index of Machine.Packages, -1 if it is in none.
	Package int
}

// Read returns the machine whose /proc and /sys are below root. Its errors name the file that is missing or
// malformed.
func Read(root string) (Machine, error) {
	m, err := readBelow(os.DirFS(root), root == "/")
	if err != nil {
		return Machine{}, err
	}
	return m, m.readGPUs(os.DirFS(root), func() (*ghw.PCIInfo, error) { return pciDevices(root) })
}

// readBelow reads all but the devices, from a file system that in fuzz tests is in memory. own tells that it is
// this machine's.
func readBelow(root fs.FS, own bool) (Machine, error) {
	m := Machine{own: own}
	for _, step := range []func(fs.FS) error{m.readOnline, m.readCores, m.readEfficient, m.readNUMA, m.readMemory} {
		if err := step(root); err != nil {
			return Machine{}, err
		}
	}
	return m, nil
}

// Sockets counts the packages, 1 where the kernel tells of none.
func (m Machine) Sockets() int { return max(1, len(m.Packages)) }

// Threads counts the online logical CPUs.
func (m Machine) Threads() int { return m.Online.Size() }

var cpuName = pattern.New(`^cpu([0-9]{1,5})$`)

// readOnline reads the list of online CPUs. Kernels without hotplug and captures lack it; there each CPU that
// has a directory and does not say that it is offline counts.
func (m *Machine) readOnline(root fs.FS) error {
	online, err := kernel.ReadCPUList(root, onlineCPUs)
	if err == nil && online.IsEmpty() {
		return kernel.Malformed(onlineCPUs, "", "a list such as 0-3")
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		m.Online = online
		return err
	}
	entries, _ := fs.ReadDir(root, strings.TrimPrefix(cpuDir, "/"))
	var cpus []int
	for _, entry := range entries {
		if match := cpuName().FindStringSubmatch(entry.Name()); match != nil {
			if state, _ := kernel.ReadFile(root, cpuDir+"/"+entry.Name()+"/online"); state != "0" {
				cpu, _ := strconv.Atoi(match[1])
				cpus = append(cpus, cpu)
			}
		}
	}
	if len(cpus) == 0 {
		return fmt.Errorf("find the online CPUs: %w", err)
	}
	m.Online = cpuset.New(cpus...)
	return nil
}

// readEfficient reads which CPUs are the efficiency cores of a hybrid Intel processor, from the performance
// counters that the kernel gives each kind.
func (m *Machine) readEfficient(root fs.FS) error {
	fast, err := kernel.ReadCPUList(root, "/sys/devices/cpu_core/cpus")
	if errors.Is(err, fs.ErrNotExist) || err == nil && fast.IsEmpty() {
		return nil
	}
	if err != nil {
		return err
	}
	m.Efficient = m.Online.Difference(fast)
	return nil
}

var (
	memTotalLine = pattern.New(`(?m)^(?:Node [0-9]+ )?MemTotal:\s*([0-9]+) kB$`)
	hugetlbLine  = pattern.New(`(?m)^Hugetlb:\s*([0-9]+) kB$`)
)

// readMemory reads MemTotal, from which the C library derives the pages that slurmd multiplies up.
func (m *Machine) readMemory(root fs.FS) error {
	content, err := kernel.ReadFile(root, meminfo)
	if errors.Is(err, fs.ErrNotExist) {
		return m.sumMemory(root)
	}
	if err != nil {
		return err
	}
	total, err := kibibytes(memTotalLine, content)
	if err != nil || total == 0 {
		return fmt.Errorf("%s has no line MemTotal: <number> kB", meminfo)
	}
	huge, err := kibibytes(hugetlbLine, content)
	if err != nil || huge > total {
		return fmt.Errorf("%s: Hugetlb is not a part of MemTotal", meminfo)
	}
	m.MemoryBytes = (total - huge) << 10
	return nil
}

// sumMemory adds up the NUMA nodes' memory, for captures that have no /proc.
func (m *Machine) sumMemory(root fs.FS) error {
	files, err := fs.Glob(root, strings.TrimPrefix(nodeDir, "/")+"/node[0-9]*/meminfo")
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := kernel.ReadFile(root, file)
		if err != nil {
			return err
		}
		total, err := kibibytes(memTotalLine, content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		m.MemoryBytes += total << 10
	}
	if m.MemoryBytes == 0 {
		m.Warnings = append(m.Warnings, "the machine's memory is not known: there is no "+meminfo)
	}
	return nil
}

// kibibytes returns the number in the line, 0 if there is no such line.
func kibibytes(line pattern.Lazy, content string) (uint64, error) {
	match := line().FindStringSubmatch(content)
	if match == nil {
		return 0, nil
	}
	return strconv.ParseUint(match[1], 10, 53)
}

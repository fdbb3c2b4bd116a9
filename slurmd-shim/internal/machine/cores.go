package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// A kind of sibling of a CPU, by the files of its topology directory that tell them: since Linux 5.4 under a
// new name, and before that under another.
var (
	coreFiles    = []string{"core_cpus", "thread_siblings"}
	packageFiles = []string{"package_cpus", "core_siblings"}
)

// readCores finds cores and packages. A kernel that does not tell siblings (sandboxes such as gVisor, small
// boards) leaves both empty.
func (m *Machine) readCores(root fs.FS) error {
	if known := withTopology(root, m.Online); !known.IsEmpty() {
		m.Online = known // one without topology is just being added or taken away
	} else {
		return nil
	}
	cores, err := partition(root, m.Online, coreFiles)
	if err == nil {
		m.Packages, err = partition(root, m.Online, packageFiles)
	}
	if err == nil && len(cores) == 0 && len(m.Packages) == 0 {
		cores, m.Packages = numbered(root, m.Online)
	}
	if err != nil {
		return err
	}
	for _, core := range separated(root, cores, m.own) {
		m.Cores = append(m.Cores, Core{CPUs: core, Package: indexOf(m.Packages, core)})
	}
	return nil
}

func withTopology(root fs.FS, online cpuset.CPUSet) cpuset.CPUSet {
	var known []int
	for _, cpu := range online.UnsortedList() {
		if kernel.IsDir(root, topologyDir(cpu)) {
			known = append(known, cpu)
		}
	}
	return cpuset.New(known...)
}

// partition returns the sets of siblings that the files tell of, by lowest CPU.
func partition(root fs.FS, online cpuset.CPUSet, files []string) ([]cpuset.CPUSet, error) {
	var sets []cpuset.CPUSet
	done := map[int]bool{}
	for i, cpu := range online.List() {
		if done[cpu] {
			continue
		}
		set, err := siblings(root, cpu, files)
		if err != nil || i == 0 && set.IsEmpty() {
			return nil, err // this kernel has none of the files
		}
		if set = set.Intersection(online); !set.Contains(cpu) {
			continue
		}
		for _, sibling := range set.UnsortedList() {
			done[sibling] = true
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// siblings reads the first of the files that is there, as a mask or as a list; empty if none is.
func siblings(root fs.FS, cpu int, files []string) (cpuset.CPUSet, error) {
	for _, file := range files {
		path := topologyDir(cpu) + "/" + file
		set, err := kernel.ReadCPUMask(root, path)
		if errors.Is(err, fs.ErrNotExist) {
			set, err = kernel.ReadCPUList(root, path+"_list")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return set, err
		}
	}
	return cpuset.CPUSet{}, nil
}

// numbered groups CPUs by their numbers of core and package, where the kernel tells nothing better: the numbers
// of cores need not be unique within a package, but mostly are.
func numbered(root fs.FS, online cpuset.CPUSet) (cores, packages []cpuset.CPUSet) {
	var coreNames, packageNames []string
	members := map[string][]int{}
	for _, cpu := range online.List() {
		pack, errPackage := kernel.ReadFile(root, topologyDir(cpu)+"/physical_package_id")
		core, errCore := kernel.ReadFile(root, topologyDir(cpu)+"/core_id")
		if errPackage != nil || errCore != nil {
			continue
		}
		core = pack + "/" + core
		if members[core] == nil {
			coreNames = append(coreNames, core)
		}
		if members[pack] == nil {
			packageNames = append(packageNames, pack)
		}
		members[core], members[pack] = append(members[core], cpu), append(members[pack], cpu)
	}
	for _, name := range coreNames {
		cores = append(cores, cpuset.New(members[name]...))
	}
	for _, name := range packageNames {
		packages = append(packages, cpuset.New(members[name]...))
	}
	return cores, packages
}

var bulldozer = pattern.New(`(?m)^cpu family\s*: 2[12]$`)

// separated splits what the kernel calls the threads of a core where they are cores with numbers of their own:
// those of an AMD processor of family 21 or 22, which share a compute unit. hwloc counts them as cores, if it
// knows that the machine is an x86: on this machine, and in captures that hwloc-gather-topology made.
func separated(root fs.FS, cores []cpuset.CPUSet, own bool) []cpuset.CPUSet {
	info, err := kernel.ReadFile(root, "/proc/cpuinfo")
	if err != nil || !bulldozer().MatchString(info) {
		return cores
	}
	if gathered, _ := kernel.ReadFile(root, "/proc/hwloc-nofile-info"); !own && !strings.Contains(gathered, "Architecture: x86_64") {
		return cores
	}
	var out []cpuset.CPUSet
	for _, core := range cores {
		numbers := map[string]bool{}
		for _, cpu := range core.List() {
			number, err := kernel.ReadFile(root, topologyDir(cpu)+"/core_id")
			if err == nil {
				numbers[number] = true
			}
		}
		if len(numbers) < core.Size() {
			out = append(out, core)
			continue
		}
		for _, cpu := range core.List() {
			out = append(out, cpuset.New(cpu))
		}
	}
	return out
}

// indexOf returns the index of the set that holds all of part, -1 if there is none.
func indexOf(sets []cpuset.CPUSet, part cpuset.CPUSet) int {
	for i, set := range sets {
		if part.IsSubsetOf(set) {
			return i
		}
	}
	return -1
}

func topologyDir(cpu int) string { return fmt.Sprintf("%s/cpu%d/topology", cpuDir, cpu) }

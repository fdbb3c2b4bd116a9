package nodeconf

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// GresRequest is a generic resource that the node is to offer.
type GresRequest struct {
	// Name is Slurm's name of it.
	Name string
	// Count is how many devices were granted, 0 for as many as there are.
	Count int
	// Files are the device files that were found; none for GPUs, which are looked for, and for devices without files.
	Files []string
	// Wanted is what the files were looked for by; empty if they were not.
	Wanted string
}

// gresRecord is a line of gres.conf.
type gresRecord struct {
	name, kind, file, cores string
	count                   int
}

// gres returns the node's generic resources as records of gres.conf, and warnings.
func gres(requests []GresRequest, n Node, offered cpuset.CPUSet, m machine.Machine) ([]gresRecord, []string, error) {
	var records []gresRecord
	var warnings []string
	for _, r := range requests {
		found := fromFiles(r)
		if r.Name == contract.GresGPU && r.Wanted == "" {
			found = fromGPUs(n, offered, m)
		}
		if r.Name != contract.GresGPU && r.Wanted == "" {
			records = append(records, gresRecord{name: r.Name, count: max(1, r.Count)})
			continue
		}
		switch {
		case len(found) == 0 && r.Count > 0:
			return nil, nil, fmt.Errorf("%w: %d devices of GRES %s were asked for, and there is no device file of any%s",
				ErrUnusable, r.Count, r.Name, whyNoFile(r))
		case len(found) < r.Count:
			warnings = append(warnings, fmt.Sprintf("%d of %d devices of GRES %s are not offered: they have no device file of their own",
				r.Count-len(found), r.Count, r.Name))
		case r.Count > 0 && len(found) > r.Count:
			warnings = append(warnings, fmt.Sprintf("%d device files of GRES %s are here and %d were granted: the others are not offered",
				len(found), r.Name, r.Count))
			found = found[:r.Count]
		}
		records = append(records, found...)
	}
	isGPU := func(r GresRequest) bool { return r.Name == contract.GresGPU }
	if len(m.GPUs) > 0 && !slices.ContainsFunc(requests, isGPU) {
		warnings = append(warnings, fmt.Sprintf("%d device files of GPUs are here and none was asked for: they are not offered", len(m.GPUs)))
	}
	return records, warnings, nil
}

func whyNoFile(r GresRequest) string {
	if r.Wanted != "" {
		return " like " + r.Wanted
	}
	return "; pods get those of NVIDIA's GPUs from a runtime class, often called nvidia"
}

func fromFiles(r GresRequest) []gresRecord {
	var found []gresRecord
	for _, file := range r.Files {
		found = append(found, gresRecord{name: r.Name, file: file, count: 1})
	}
	return found
}

// fromGPUs are the machine's GPUs, each with the cores next to it, which Slurm then prefers for its jobs.
func fromGPUs(n Node, offered cpuset.CPUSet, m machine.Machine) []gresRecord {
	numbers, why := coreNumbers(n, m)
	untyped := slices.ContainsFunc(m.GPUs, func(g machine.GPU) bool { return g.Type == "" })
	var found []gresRecord
	for _, gpu := range m.GPUs {
		r := gresRecord{name: contract.GresGPU, kind: gpu.Type, file: gpu.File, count: 1}
		if untyped {
			r.kind = "" // Slurm takes types of all or none
		}
		if why == "" {
			r.cores = nearCores(gpu, numbers, offered, m)
		}
		found = append(found, r)
	}
	return found
}

// nearCores are the cores next to a GPU in Slurm's numbering, or empty if that is not known, all are, or none
// that is offered.
func nearCores(gpu machine.GPU, numbers []int, offered cpuset.CPUSet, m machine.Machine) string {
	var near []int
	useful, all := false, true
	for i, core := range m.Cores {
		if !core.CPUs.IsSubsetOf(gpu.Near) {
			all = all && !core.CPUs.IsSubsetOf(offered)
			continue
		}
		near = append(near, numbers[i])
		useful = useful || core.CPUs.IsSubsetOf(offered)
	}
	if !useful || all {
		return ""
	}
	return cpuset.New(near...).String()
}

// coreNumbers returns Slurm's number of each core of m, or why it has none. Slurm counts cores by socket and their
// position in it (xcpuinfo.c); that only fits machines whose sockets and cores are all alike and whose CPUs are
// numbered without gaps. n is the whole machine's shape.
func coreNumbers(n Node, m machine.Machine) (numbers []int, why string) {
	shape, consistent := whole(m)
	if !consistent || n.Boards != 1 || len(m.Cores) == 0 || !m.Efficient.IsEmpty() {
		return nil, "the machine is not regular, and Slurm's numbers of CPUs do not fit it"
	}
	if n.CPUs != shape.CPUs || n.SocketsPerBoard != shape.SocketsPerBoard || n.CoresPerSocket != shape.CoresPerSocket {
		return nil, "the node is a part of the machine"
	}
	if last := m.Online.List()[m.Online.Size()-1]; last >= m.Online.Size() {
		return nil, fmt.Sprintf("CPUs are numbered up to %d and only %d are online, and then Slurm mistakes one for another", last, m.Online.Size())
	}
	position := make([]int, len(m.Packages))
	for _, core := range m.Cores {
		if core.Package < 0 || core.CPUs.Size() != n.ThreadsPerCore || position[core.Package] == n.CoresPerSocket {
			return nil, "cores or sockets of the machine differ from each other, and Slurm's numbers of CPUs do not fit them"
		}
		numbers = append(numbers, core.Package*n.CoresPerSocket+position[core.Package])
		position[core.Package]++
	}
	return numbers, ""
}

// list is the value of Gres= in a node's line: name[:type]:count, with commas between.
func list(records []gresRecord) string {
	var names []string
	counts := map[string]int{}
	for _, r := range records {
		name := r.name
		if r.kind != "" {
			name += ":" + r.kind
		}
		if counts[name] == 0 {
			names = append(names, name)
		}
		counts[name] += r.count
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s:%d", name, counts[name])
	}
	return strings.Join(names, ",")
}

// conf are the lines of gres.conf.
func conf(records []gresRecord, m machine.Machine) []string {
	if len(records) == 0 {
		return nil
	}
	lines := []string{"AutoDetect=off"}
	for _, r := range records {
		line := "Name=" + r.name
		if r.kind != "" {
			line += " Type=" + r.kind
		}
		if r.file != "" {
			line += " File=" + r.file
		} else {
			line += fmt.Sprintf(" Count=%d", r.count)
		}
		if r.cores != "" {
			line += " Cores=" + r.cores
		}
		if r.name == contract.GresGPU {
			line += " Flags=" + environment(m)
		}
		lines = append(lines, line)
	}
	return lines
}

// environment says which variables tell a job its GPUs. Slurm wants the same for all of a node's.
func environment(m machine.Machine) string {
	flags := map[string]string{machine.NVIDIA: "nvidia_gpu_env", machine.AMD: "amd_gpu_env", machine.Intel: "intel_gpu_env"}
	var list []string
	for _, gpu := range m.GPUs {
		if flag := flags[gpu.Vendor]; flag != "" && !slices.Contains(list, flag) {
			list = append(list, flag)
		}
	}
	if list == nil {
		return "no_gpu_env"
	}
	return strings.Join(list, ",")
}

// Package slurmconf turns a cluster into Slurm's configuration files. It is pure: the same input gives the
// same bytes. Whatever a user can write is checked and escaped here even though the schema checks it too,
// because a newline in a value must not be able to add a line.
package slurmconf

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Cluster is what the configuration is made from.
type Cluster struct {
	// Name is Slurm's ClusterName.
	Name string
	// ControllerHost is the hostname of slurmctld's pod: Slurm finds itself by it.
	ControllerHost string
	// ControllerIP is the address at which slurmds reach slurmctld, a Service IP.
	ControllerIP string
	// MaxNodes is how many nodes slurmctld makes room for.
	MaxNodes int
	// NodeSets are the groups of nodes.
	NodeSets []NodeSet
	// Partitions are the queues, at least one.
	Partitions []Partition
	// OwnAuth tells that daemons know each other by Slurm's own auth/slurm, not by munge.
	OwnAuth bool
	// GresTypes are the names of the nodes' generic resources.
	GresTypes []string
	// ResumeSeconds is how long a node that Slurm powers up may take until it registers; 0 if there are none such.
	ResumeSeconds int64
	// Config holds further parameters of slurm.conf, as the user wrote them.
	Config map[string]string
}

// NodeSet is a group of nodes that carry its name as a Slurm feature.
type NodeSet struct {
	Name string
	// MemoryPerCPUMB is the share of a node's memory that comes with each of its CPUs, in MiB.
	MemoryPerCPUMB int64
}

// Partition is a queue; empty and zero fields are left to Slurm.
type Partition struct {
	Name         string
	NodeSets     []string
	Default      bool
	MaxTime      string
	DefaultTime  string
	MaxNodes     int32
	PriorityTier int32
	State        string
}

// Render makes the files by name: slurm.conf as slurmctld serves it, slurm.conf for clients in slurmctld's own pod, cgroup.conf,
// plugstack.conf, job_submit.lua and, where nodes have devices, gres.conf. It fails with a sentence when something cannot be written safely.
func Render(c Cluster) (map[string]string, error) {
	if err := Validate(c.Config); err != nil {
		return nil, err
	}
	// Binding a pod that has a share of CPUs, not CPUs of its own, puts every pod of a machine on the same
	// core. So TaskPlugin is each pod's own matter.
	served, err := slurmConf(c, c.ControllerIP, "Include "+contract.NodeConf)
	if err != nil {
		return nil, err
	}
	// A srun that has to wait is called back at the address it called from. From slurmctld's own pod that
	// must be the pod itself and not the Service, whose address no srun listens on.
	local, err := slurmConf(c, "127.0.0.1", "TaskPlugin=task/none")
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		contract.FileSlurmConf:      served,
		contract.FileSlurmConfLocal: local,
		contract.FileCgroupConf:     cgroupConf,
		contract.FilePlugstackConf:  plugstackConf,
		contract.FileJobSubmit:      jobSubmit,
	}
	if len(c.GresTypes) > 0 {
		files[contract.FileGresConf] = gresConf
	}
	return files, nil
}

// cgroupConf: pods have no writable cgroups, and the kernel already confines each of them.
const cgroupConf = header + "CgroupPlugin=disabled\n"

// plugstackConf: sbatch understands #PBS lines, and the scripts that have them begin with `cd $PBS_O_WORKDIR`.
const plugstackConf = header + "optional spank_pbs.so\n"

//go:embed job_submit.lua
var jobSubmitText string

// jobSubmit is a script that slurmctld calls for each job.
var jobSubmit = strings.NewReplacer("{{.Home}}", contract.HomeDir, "{{.User}}", contract.UserName).Replace(jobSubmitText)

// gresConf: each node writes down its own devices.
const gresConf = header + "Include " + contract.GresConf + "\n"

const header = "# Made by the SlurmCluster operator. Change the SlurmCluster object, not this file.\n"

func slurmConf(c Cluster, address, taskPlugin string) (string, error) {
	var b strings.Builder
	b.WriteString(header)
	for _, p := range parameters(c, address) {
		if err := checkValue(p.key, p.value); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s=%s\n", p.key, p.value)
	}
	fmt.Fprintln(&b, taskPlugin)
	for _, g := range c.GresTypes {
		if err := checkName("generic resource", g); err != nil {
			return "", err
		}
	}
	if len(c.GresTypes) > 0 {
		fmt.Fprintf(&b, "GresTypes=%s\n", strings.Join(c.GresTypes, ","))
	}
	for _, n := range c.NodeSets {
		if err := checkName("node set", n.Name); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "NodeSet=%s Feature=%s\n", n.Name, n.Name)
	}
	for _, p := range c.Partitions {
		line, err := partitionLine(p, c.NodeSets)
		if err != nil {
			return "", err
		}
		b.WriteString(line)
	}
	return b.String(), nil
}

type parameter struct{ key, value string }

// parameters merges the user's parameters into ours: theirs win over our defaults, and none of them is a
// key that we own (Validate).
func parameters(c Cluster, address string) []parameter {
	user := make(map[string]string, len(c.Config))
	for k, v := range c.Config {
		user[strings.ToLower(k)] = v
	}
	list := owned(c, address)
	for _, p := range defaultsOf(c) {
		if v, ok := user[strings.ToLower(p.key)]; ok {
			p.value = v
			delete(user, strings.ToLower(p.key))
		}
		list = append(list, p)
	}
	for _, p := range joinedOf(c) {
		lower := strings.ToLower(p.key)
		list = append(list, parameter{p.key, strings.TrimSuffix(p.value+","+user[lower], ",")})
		delete(user, lower)
	}
	for _, k := range slices.Sorted(maps.Keys(user)) {
		list = append(list, parameter{known[k], user[k]})
	}
	return list
}

func partitionLine(p Partition, sets []NodeSet) (string, error) {
	if err := checkName("partition", p.Name); err != nil {
		return "", err
	}
	fields := []string{"PartitionName=" + p.Name}
	add := func(key, value string, set bool) {
		if set {
			fields = append(fields, key+"="+value)
		}
	}
	nodes := "ALL"
	if len(p.NodeSets) > 0 {
		nodes = strings.Join(p.NodeSets, ",")
	}
	state := p.State
	if state == "" {
		state = "UP"
	}
	memory := memoryPerCPU(p.NodeSets, sets)
	add("Nodes", nodes, true)
	add("Default", "YES", p.Default)
	add("State", state, true)
	add("MaxTime", p.MaxTime, p.MaxTime != "")
	add("DefaultTime", p.DefaultTime, p.DefaultTime != "")
	add("MaxNodes", fmt.Sprint(p.MaxNodes), p.MaxNodes > 0)
	add("PriorityTier", fmt.Sprint(p.PriorityTier), p.PriorityTier > 0)
	add("DefMemPerCPU", fmt.Sprint(memory), memory > 0)
	line := strings.Join(fields, " ")
	if strings.ContainsAny(line, "\n\r#\\\"") {
		return "", fmt.Errorf("partition %q has a character that slurm.conf cannot hold in one word", p.Name)
	}
	return line + "\n", nil
}

// memoryPerCPU is the smallest share among the partition's node sets. Slurm's own default gives a job all
// the memory of its nodes, so that a second job would never share a node.
func memoryPerCPU(names []string, sets []NodeSet) int64 {
	var least int64
	for _, s := range sets {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		if least == 0 || s.MemoryPerCPUMB < least {
			least = s.MemoryPerCPUMB
		}
	}
	return least
}

// Package status turns what was observed into a cluster's status. It is pure.
package status

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// Observation is what a status is made from.
type Observation struct {
	Cluster *v1alpha1.SlurmCluster
	// Pods are the slurmd pods.
	Pods []Pod
	// Known tells whether slurmctld could be asked. Without it, the pods' nodes, Jobs and Version mean nothing.
	Known   bool
	Jobs    []slurm.Job
	Version string
	// RunningConfig is the hash of the configuration that slurmctld runs with, ConfigAppliedBy how it came to that, and
	// WantedConfig the hash of the wanted.
	RunningConfig, ConfigAppliedBy, WantedConfig string
	// RunningImage is the image that slurmctld runs; empty if that is not sure.
	RunningImage string
	// ControllerRan tells whether slurmctld has answered before, in this or an earlier observation.
	ControllerRan bool
	// Problems are what needs a person or a replacement, the gravest first.
	Problems []Problem
	// Waiting says what a change waits for, and Working what is being done, if there is such a thing.
	Waiting, Working *Problem
	// Endpoints are the cluster's addresses.
	Endpoints v1alpha1.Endpoints
	// Granted is what the class allows now, nil if that is what it allowed before.
	Granted *v1alpha1.Granted
	// Gathered tells that a cluster that wants all of its nodes or none has had all of them.
	Gathered bool
	// Life is the cluster's end.
	Life Life
	// Off tells that slurmctld of a suspended cluster is switched off, too.
	Off bool
}

// Life is the end of a cluster that ends by itself; zero times are not known, or never.
type Life struct {
	ExpiresAt, IdleSince, WarnedOf time.Time
}

// Pod is the part of a slurmd pod that counts.
type Pod struct {
	Set string
	// Serving tells that the pod is not leaving and all its containers run, as far as the kubelet told.
	Serving bool
	// Node is the pod's node as slurmctld knows it, or nil.
	Node *slurm.Node
}

// Problem is a reason of a condition with its sentence.
type Problem struct {
	Reason  string
	Message string
}

// Make makes the status; conditions keep their transition times from the old one.
func Make(o Observation) v1alpha1.SlurmClusterStatus {
	old := o.Cluster.Status
	s := v1alpha1.SlurmClusterStatus{
		ObservedGeneration: o.Cluster.Generation,
		Conditions:         append([]metav1.Condition(nil), old.Conditions...),
		Endpoints:          o.Endpoints,
		Jobs:               old.Jobs,
		SlurmVersion:       old.SlurmVersion,
		ConfigHash:         old.ConfigHash,
		ConfigAppliedBy:    old.ConfigAppliedBy,
		Image:              cmp.Or(o.RunningImage, old.Image),
		Granted:            cmp.Or(o.Granted, old.Granted),
		Gathered:           o.Gathered,
		ExpiresAt:          timeOf(o.Life.ExpiresAt),
		IdleSince:          timeOf(o.Life.IdleSince),
		WarnedOf:           timeOf(o.Life.WarnedOf),
	}
	if o.RunningConfig != "" {
		s.ConfigHash, s.ConfigAppliedBy = o.RunningConfig, o.ConfigAppliedBy
	}
	if o.Known {
		s.Jobs, s.SlurmVersion = countJobs(o.Jobs), o.Version
	}
	wanted, ready, cpus := countNodes(o, &s)
	s.Nodes, s.ReadyNodes, s.CPUs = &wanted, &ready, &cpus
	setConditions(o, &s)
	return s
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

func countJobs(jobs []slurm.Job) v1alpha1.JobCounts {
	var c v1alpha1.JobCounts
	for _, j := range jobs {
		switch {
		case j.Running():
			c.Running++
		case j.Pending():
			c.Pending++
		}
	}
	return c
}

func countNodes(o Observation, s *v1alpha1.SlurmClusterStatus) (wanted, ready, cpus int32) {
	sets := o.Cluster.Spec.NodeSets
	at := make(map[string]int, len(sets))
	for i, set := range sets {
		s.NodeSets = append(s.NodeSets, v1alpha1.NodeSetStatus{Name: set.Name, Wanted: int32(desired.Replicas(set))})
		at[set.Name] = i
	}
	for _, pod := range o.Pods {
		if i, one := at[pod.Set]; one && o.Known && pod.Node != nil {
			cpus += count(&s.NodeSets[i], pod)
		}
	}
	for i, set := range sets {
		counts := &s.NodeSets[i]
		if set.Autoscale != nil {
			counts.Wanted = max(counts.Wanted, counts.Ready) // those above min come and go with the jobs
		}
		counts.Ready = min(counts.Ready, counts.Wanted)
		wanted += counts.Wanted
		ready += counts.Ready
	}
	return wanted, ready, cpus
}

// count adds a pod's node to its set's counts and returns the CPUs that it offers.
func count(c *v1alpha1.NodeSetStatus, pod Pod) int32 {
	n := pod.Node
	switch {
	case n.Down() || !pod.Serving:
		c.Down++
		return 0
	case n.Registering():
		return 0 // it is let in at once, and is not worth a write of the status before
	case n.Draining():
		c.Draining++
		return 0
	case !n.Usable():
		return 0
	case n.Busy():
		c.Allocated++
	default:
		c.Idle++
	}
	c.Ready++
	return n.CPUs
}

func plural(n int32, word string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, word)
	}
	return fmt.Sprintf("%d %ss", n, word)
}

package controller

import (
	"context"
	"hash/maphash"
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

const (
	// restTime is how long a cluster that rests is only asked whether it still does. After that it is looked at in full.
	restTime = 5 * time.Minute
	// restTrust is how long it is meanwhile only asked for jobs, with which all else begins. Its nodes run nothing, and
	// of their pods Kubernetes tells.
	restTrust = time.Minute
)

// rest is what a cluster with nothing left to do was like, and since when: most clusters are like that most of the time,
// and there may be a thousand of them.
type rest struct {
	since    time.Time
	versions uint64
	// asked is when slurmctld was last asked for more than jobs.
	asked time.Time
}

// rests tells whether a cluster is still as it was when there was nothing left to do: neither its objects nor its nodes
// nor its jobs have changed.
func (s *scope) rests(ctx context.Context) bool {
	m := s.memory
	if m.rest.since.IsZero() || s.Clock.Since(m.rest.since) >= restTime || m.rest.versions != s.versions() ||
		!m.due.IsZero() && !s.Clock.Now().Before(m.due) {
		return false
	}
	slurmctld := s.slurmctld(m.keys[contract.KeyJWT])
	jobs, err := slurmctld.Jobs(ctx)
	if err != nil || !slices.EqualFunc(m.answers.slurmJobs, jobs, sameJob) {
		return false
	}
	if s.Clock.Since(m.rest.asked) < restTrust {
		return true
	}
	nodes, _, err := slurmctld.Nodes(ctx)
	if err != nil || !reflect.DeepEqual(m.answers.slurmNodes, nodes) {
		return false
	}
	m.rest.asked = s.Clock.Now()
	return true
}

func sameJob(a, b slurm.Job) bool { return a.ID == b.ID && slices.Equal(a.State, b.State) }

// rememberRest remembers whether a cluster rests after a look.
func (s *scope) rememberRest(changed bool) {
	s.memory.rest = rest{}
	if changed || !s.settled() || len(s.problems) > 0 || s.waiting != nil || s.working != nil || !s.still() {
		return
	}
	s.memory.rest = rest{since: s.Clock.Now(), versions: s.versions(), asked: s.Clock.Now()}
}

// still tells whether time alone changes nothing: of autoscaled nodes, nodes with jobs or wishes, and contents that are
// not watched, it does, and for some time after anything has happened, more may.
func (s *scope) still() bool {
	now := s.Clock.Now()
	if s.autoscales() || len(s.cluster.Spec.Volumes) > 0 || now.Before(s.memory.requeueUntil) ||
		now.Sub(s.memory.activity) < lively || now.Sub(s.memory.sizeChanged) < wordTime {
		return false
	}
	for i := range s.slurmNodes {
		if s.slurmNodes[i].Busy() || s.slurmNodes[i].Moving() {
			return false
		}
	}
	return !slices.ContainsFunc(s.slurmdPods, func(pod *slurmdPod) bool { return pod.busy })
}

// seed makes versions comparable.
var seed = maphash.MakeSeed()

// versions tells apart what a cluster's objects, and the machines of its pods, were like at different times.
func (s *scope) versions() uint64 {
	var sum uint64
	add := func(o client.Object) {
		sum += maphash.Comparable(seed, [2]string{string(o.GetUID()), o.GetResourceVersion()}) // in any order
	}
	for _, o := range []client.Object{s.cluster, s.service, s.nodes, s.configMap, s.budget, s.policy} {
		add(o)
	}
	if s.class != nil {
		add(s.class)
	}
	if s.controllerPod != nil {
		add(s.controllerPod)
	}
	for _, pod := range s.slurmdPods {
		sum += pod.version
		if s.machineFor(pod.Pod) != (machine{}) { // what happens to the machine changes nothing in the pod
			add(pod)
		}
	}
	return sum
}

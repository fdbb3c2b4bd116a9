package controller

import (
	"context"
	"hash/maphash"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

const (
	// restTime is how long a cluster that rests is only asked whether it still does. After that it is looked at in full.
	restTime = 5 * time.Minute
	// keysTrustAtRest is how long its Secret, which is not watched, is meanwhile taken to be there without looking.
	keysTrustAtRest = time.Minute
)

// rest is what a cluster with nothing left to do was like, and since when: most clusters are like that most of the time,
// and there may be a thousand of them.
type rest struct {
	since    time.Time
	versions uint64
}

// rests tells whether a cluster is still as it was when there was nothing left to do: neither its objects nor its nodes
// nor its jobs have changed.
func (s *scope) rests(ctx context.Context) bool {
	m := s.memory
	if m.rest.since.IsZero() || s.Clock.Since(m.rest.since) >= restTime || m.rest.versions != s.versions() {
		return false
	}
	before := m.answers
	if s.keys = m.keys; s.Clock.Since(m.keysSeen) >= keysTrustAtRest && s.ensureKeys(ctx) != nil {
		return false
	}
	if err := s.askSlurm(ctx); err != nil || !s.known {
		return false
	}
	return reflect.DeepEqual(before.slurmNodes, s.slurmNodes) && reflect.DeepEqual(before.slurmJobs, s.slurmJobs) && before.agent == s.agent
}

// rememberRest remembers whether a cluster rests after a look.
func (s *scope) rememberRest(changed bool) {
	s.memory.rest = rest{}
	if changed || !s.settled() || len(s.problems) > 0 || s.waiting != nil || s.working != nil || !s.still() {
		return
	}
	s.memory.rest = rest{since: s.Clock.Now(), versions: s.versions()}
}

// still tells whether time alone changes nothing: of autoscaled nodes, nodes with jobs or wishes, and contents that are
// not watched, it does.
func (s *scope) still() bool {
	if s.autoscales() || len(s.cluster.Spec.Volumes) > 0 || s.Clock.Now().Before(s.memory.requeueUntil) {
		return false
	}
	for i := range s.slurmNodes {
		if s.slurmNodes[i].Busy() || s.slurmNodes[i].Moving() {
			return false
		}
	}
	for i := range s.slurmdPods {
		if _, marked := s.slurmdPods[i].Labels[contract.LabelBusy]; marked {
			return false
		}
	}
	return true
}

// seed makes versions comparable.
var seed = maphash.MakeSeed()

// versions tells apart what a cluster's objects were like at different times.
func (s *scope) versions() uint64 {
	var sum uint64
	add := func(o client.Object) {
		sum += maphash.String(seed, string(o.GetUID())+" "+o.GetResourceVersion()) // in any order
	}
	for _, o := range []client.Object{s.cluster, s.service, s.nodes, s.configMap, s.controller, s.budget} {
		add(o)
	}
	if s.controllerPod != nil {
		add(s.controllerPod)
	}
	for i := range s.slurmdPods {
		add(&s.slurmdPods[i])
	}
	return sum
}

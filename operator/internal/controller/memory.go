package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmcluster/slurmcluster/operator/internal/nodeplan"
)

// memory is what the operator remembers of a cluster between two looks. None of it is needed to go on
// after a restart: it only saves requests and tells how long something has lasted.
type memory struct {
	uid types.UID
	// keys are the cluster's keys, and keysSeen when its Secret was last seen.
	keys     map[string][]byte
	keysSeen time.Time
	// keyRotation is the annotation that the keys were made for.
	keyRotation string
	// client is the client to the cluster's slurmctld.
	client slurmClient
	// answers is what slurmctld told in the last look.
	answers answers
	// pods are the slurmd pods, versions the same by the object that was read last, and look counts the looks at them.
	pods     map[types.UID]*slurmdPod
	versions map[*corev1.Pod]*slurmdPod
	look     uint64
	// homeFor is the generation of the spec for which the claim of the home was seen to.
	homeFor int64
	// gathering is how far a cluster is that wants all of its nodes or none.
	gathering gathering
	// jobs are those that slurmctld knew in the last look, in clusters that end when they are idle.
	jobs map[string]bool
	// due is when something is to be done for the cluster's end.
	due time.Time
	// plan is where the pods for a plan are put.
	plan []nodeplan.Pod
	// rest is what it was like when there was nothing left to do.
	rest rest
	// knownSince is when slurmctld began to answer without a break.
	knownSince time.Time
	// sizeChanged is when the kubelet last gave a slurmd pod another size.
	sizeChanged time.Time
	// requeueUntil is until when jobs of lost nodes are looked for, and requeueSeen when that was last done.
	requeueUntil, requeueSeen time.Time
	// startingSince is since when nodes are being switched on.
	startingSince map[string]time.Time
	// refusals say why Kubernetes did not take the pods of nodes that are being switched on.
	refusals map[string]string
	// volumes is what was seen of what the cluster's volumes refer to.
	volumes volumes
	// listener waits for events in slurmctld.
	listener listener
	// probed is the image that was last asked for its version.
	probed probed
	// nodesHave is the wanted image once all nodes have it, while slurmctld does not.
	nodesHave string
	// progressSeen is when the status first was not what is written, which may be only in passing.
	progressSeen time.Time
	// activity is when something last changed.
	activity   time.Time
	generation int64
}

type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

// of returns the memory of a cluster, a new one if it is another cluster of the same name.
func (m *memories) of(name types.NamespacedName, uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.NamespacedName]*memory{}
	}
	if known, ok := m.all[name]; ok && known.uid == uid {
		return known
	} else if ok {
		known.listener.end()
	}
	fresh := &memory{
		uid: uid, pods: map[types.UID]*slurmdPod{}, versions: map[*corev1.Pod]*slurmdPod{},
		startingSince: map[string]time.Time{}, refusals: map[string]string{},
	}
	m.all[name] = fresh
	return fresh
}

func (m *memories) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.all[name]; ok {
		known.listener.end()
	}
	delete(m.all, name)
}

package controller

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/nodeplan"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// slurmdPod is a slurmd pod: the object, what that says, and what is remembered of the pod as long as it is there. A large
// cluster has thousands, of which few change between two looks, so each version is read once.
type slurmdPod struct {
	*corev1.Pod
	facts
	past
}

// facts are what a version of a pod's object says, whatever the time and whatever else there is.
type facts struct {
	// plan is what a plan is told of the pod, as far as the object says it.
	plan nodeplan.Pod
	// named tells that the pod's labels name a node of its set.
	named bool
	// version is another for a version of any pod that says something else of what counts here. Most changes do not.
	version uint64
	// restarts is how often the kubelet has started slurmd again, and ends how often slurmd has ended.
	restarts, ends int32
	// serving is as serves says, and troubled tells that there may be something to say about the pod.
	serving, troubled bool
	// busy tells that the pod is marked as one that runs something.
	busy bool
	// gres are the kinds of devices that it offers.
	gres []string
	// size is what the kubelet has given slurmd's container, and sized that it has told.
	size  size
	sized bool
	// resizePending is why another size is not given yet, or nil.
	resizePending *corev1.PodCondition
}

// past is what the operator remembers of a pod.
type past struct {
	// asked tells that slurmctld was asked for the pod's node since this version of the pod was seen.
	asked bool
	// told is how many ends of slurmd slurmctld was told of, once that is seen to be so.
	told     int32
	toldSeen bool
	// registered tells that slurmctld has known the pod's node, and resized is when that was removed so that it registers
	// with another size.
	registered bool
	resized    time.Time
	// inSince is since when the node was seen to be let in, of a node that is alone.
	inSince time.Time
	// busySince is since when slurmctld was seen to have something on the node, if it has.
	busySince time.Time
	// growing is since when the node waits for a free moment to become larger.
	growing time.Time
	// lastSize is what the kubelet had given it before, if sizeSeen.
	lastSize size
	sizeSeen bool
	// node is the pod's node as slurmctld knows it, or nil, and at where that is among slurmctld's.
	node *slurm.Node
	at   int
	// look is the last one in which the pod was there.
	look uint64
}

// name is that of the pod's node.
func (p *slurmdPod) name() string { return p.plan.Node }

// read reads a version of a pod.
func read(pod *corev1.Pod) facts {
	f := facts{
		serving: serves(pod), restarts: restarts(pod), ends: slurmdEnds(pod),
	}
	node, ended := pod.Labels[contract.LabelNode], pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	index, err := strconv.Atoi(node[strings.LastIndexByte(node, '-')+1:])
	f.named = err == nil
	f.plan = nodeplan.Pod{
		Node: node, Set: pod.Labels[contract.LabelNodeSet], Index: index,
		Hash:    pod.Annotations[contract.AnnotationTemplateHash],
		Started: everRan(pod, contract.ContainerSlurmd),
		Running: runs(pod, contract.ContainerSlurmd), RunningSince: runningSince(pod),
		Leaving: pod.DeletionTimestamp != nil || ended,
		Ended:   ended && pod.DeletionTimestamp == nil,
	}
	_, f.busy = pod.Labels[contract.LabelBusy]
	if list := pod.Annotations[contract.AnnotationGres]; list != "" {
		f.gres = strings.Split(list, ",")
	}
	for c := range containerStatuses(pod) {
		f.troubled = f.troubled || c.State.Waiting != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		f.troubled = f.troubled || c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		if c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue {
			f.resizePending = c
		}
	}
	f.size, f.sized = sizeOf(pod)
	f.version = versionOf(pod, f)
	return f
}

// versionOf sums up all that is ever looked at of a pod. Of one that something may have to be said about, that is everything.
func versionOf(pod *corev1.Pod, f facts) uint64 {
	if f.troubled || f.resizePending != nil {
		return maphash.Comparable(seed, [2]string{string(pod.UID), pod.ResourceVersion})
	}
	var deleted time.Time
	if pod.DeletionTimestamp != nil {
		deleted = pod.DeletionTimestamp.Time
	}
	return maphash.Comparable(seed, struct {
		uid             types.UID
		machine         string
		deleted         time.Time
		keys, gres      string
		plan            nodeplan.Pod
		named           bool
		restarts, ends  int32
		serving, marked bool
		size            size
		sized           bool
	}{
		pod.UID, pod.Spec.NodeName, deleted, pod.Annotations[contract.AnnotationRotateKeys], pod.Annotations[contract.AnnotationGres],
		f.plan, f.named, f.restarts, f.ends, f.serving, f.busy, f.size, f.sized,
	})
}

// takePods sorts a cluster's pods, and forgets those that have gone.
func (s *scope) takePods(pods []*corev1.Pod) {
	m := s.memory
	m.look++
	s.slurmdPods = make([]*slurmdPod, 0, len(pods))
	for _, pod := range pods {
		p, same := m.versions[pod]
		switch {
		case same:
		case pod.Labels[contract.LabelRole] == contract.RoleSlurmd && s.want.OwnedBy(pod):
			if p = m.pods[pod.UID]; p == nil {
				p = &slurmdPod{}
				m.pods[pod.UID] = p
			}
			delete(m.versions, p.Pod)
			p.Pod, p.facts, p.asked = pod, read(pod), false
			m.versions[pod] = p
		case pod.Name == s.want.ControllerPodName() && s.want.OwnedBy(pod):
			s.controllerPod = pod
			continue
		case pod.Name == s.want.VersionPodName() && s.want.OwnedBy(pod):
			s.versionPod = pod
			continue
		default:
			continue
		}
		p.look, p.node = m.look, nil
		s.slurmdPods = append(s.slurmdPods, p)
		s.want.GresInUse = append(s.want.GresInUse, p.gres...)
	}
	if len(m.pods) == len(s.slurmdPods) {
		return
	}
	for uid, p := range m.pods {
		if p.look != m.look {
			delete(m.pods, uid)
			delete(m.versions, p.Pod)
		}
	}
}

// podOf is the pod of a node, or nil.
func (s *scope) podOf(node string) *slurmdPod {
	if s.podAt == nil {
		s.podAt = make(map[string]*slurmdPod, len(s.slurmdPods))
		for _, pod := range s.slurmdPods {
			s.podAt[pod.name()] = pod
		}
	}
	return s.podAt[node]
}

// meet finds the pods' nodes among slurmctld's.
func (s *scope) meet() {
	for _, pod := range s.slurmdPods {
		pod.node = s.nodeOf(pod)
	}
}

// nodeOf is the node of a pod as slurmctld knows it, or nil.
func (a *answers) nodeOf(pod *slurmdPod) *slurm.Node {
	if pod.at < len(a.slurmNodes) && a.slurmNodes[pod.at].Name == pod.name() {
		return &a.slurmNodes[pod.at]
	}
	at, known := a.slurmAt[pod.name()]
	if !known {
		return nil
	}
	pod.at = at
	a.slurmNodes[at].Name = pod.name() // the same, but also in memory, so that it is seen to be equal without being read
	return &a.slurmNodes[at]
}

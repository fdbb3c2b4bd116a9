package controller

import (
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// version is another for another version of any pod.
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
	// growing is since when the node waits for a free moment to become larger.
	growing time.Time
	// lastSize is what the kubelet had given it before, if sizeSeen.
	lastSize size
	sizeSeen bool
	// at is where the node was last found among slurmctld's.
	at int
	// look is the last one in which the pod was there.
	look uint64
}

// node is the name of the pod's node.
func (p *slurmdPod) node() string { return p.plan.Node }

// read reads a version of a pod.
func read(pod *corev1.Pod) facts {
	f := facts{
		version: maphash.Comparable(seed, [2]string{string(pod.UID), pod.ResourceVersion}),
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
	return f
}

// podIndex is the index of the pods of a cluster, by the cluster's namespace and name.
const podIndex = "cluster"

// indexPods lets the pods of a cluster be found among those of many.
func (r *Reconciler) indexPods(ctx context.Context, m ctrl.Manager) error {
	informer, err := m.GetCache().GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	if shared, one := informer.(toolscache.SharedIndexInformer); one {
		r.podIndexer = shared.GetIndexer()
		return shared.AddIndexers(toolscache.Indexers{podIndex: func(o any) ([]string, error) {
			pod := o.(*corev1.Pod)
			return []string{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[contract.LabelCluster]}.String()}, nil
		}})
	}
	// Where the operator looks at some namespaces only, each has an informer of its own, behind the manager's cache.
	return m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, clusterIndex, clusterLabel)
}

// clusterIndex finds the pods of a cluster among those of many in a namespace.
const clusterIndex = "metadata.labels." + contract.LabelCluster

func clusterLabel(o client.Object) []string { return []string{o.GetLabels()[contract.LabelCluster]} }

// podsOf are the pods of a cluster. They are those of the cache itself, as copies of thousands would cost more than all
// else: what changes one, copies that.
func (r *Reconciler) podsOf(ctx context.Context, cluster types.NamespacedName) ([]*corev1.Pod, error) {
	if r.podIndexer != nil {
		found, err := r.podIndexer.ByIndex(podIndex, cluster.String())
		pods := make([]*corev1.Pod, 0, len(found))
		for _, o := range found {
			pods = append(pods, o.(*corev1.Pod))
		}
		return pods, err
	}
	list := &corev1.PodList{}
	err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingFields{clusterIndex: cluster.Name}, client.UnsafeDisableDeepCopy)
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, err
}

// takePods sorts a cluster's pods, and forgets those that have gone.
func (s *scope) takePods(pods []*corev1.Pod) {
	known := s.memory.pods
	s.memory.look++
	s.slurmdPods = make([]*slurmdPod, 0, len(pods))
	for _, pod := range pods {
		p, before := known[pod.UID]
		switch {
		case before && p.ResourceVersion == pod.ResourceVersion:
		case pod.Labels[contract.LabelRole] == contract.RoleSlurmd && s.want.OwnedBy(pod):
			if !before {
				p = &slurmdPod{}
				known[pod.UID] = p
			}
			p.Pod, p.facts, p.asked = pod, read(pod), false
		case pod.Name == s.want.ControllerPodName():
			s.controllerPod = pod
			continue
		default:
			continue
		}
		p.look = s.memory.look
		s.slurmdPods = append(s.slurmdPods, p)
		s.want.GresInUse = append(s.want.GresInUse, p.gres...)
	}
	if len(known) == len(s.slurmdPods) {
		return
	}
	for uid, p := range known {
		if p.look != s.memory.look {
			delete(known, uid)
		}
	}
}

// podOf is the pod of a node, or nil.
func (s *scope) podOf(node string) *slurmdPod {
	if s.podAt == nil {
		s.podAt = make(map[string]*slurmdPod, len(s.slurmdPods))
		for _, pod := range s.slurmdPods {
			s.podAt[pod.node()] = pod
		}
	}
	return s.podAt[node]
}

// nodeOf is the node of a pod as slurmctld knows it, or nil.
func (a *answers) nodeOf(pod *slurmdPod) *slurm.Node {
	if pod.at < len(a.slurmNodes) && a.slurmNodes[pod.at].Name == pod.node() {
		return &a.slurmNodes[pod.at]
	}
	at, known := a.slurmAt[pod.node()]
	if !known {
		return nil
	}
	pod.at = at
	return &a.slurmNodes[at]
}

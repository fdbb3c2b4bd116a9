package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A machine is a node of Kubernetes', so called because here a node is one of Slurm's.
type machine struct {
	// cordoned tells that nothing new is to be scheduled onto it.
	cordoned bool
	// unreachable tells that its kubelet is not heard of.
	unreachable bool
}

// machines remembers the machines that are not as usual. Others need no memory.
type machines struct {
	mu  sync.RWMutex
	all map[string]machine
	// unusual is how many there are.
	unusual atomic.Int64
}

func (m *machines) of(name string) machine {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.all[name]
}

// set tells whether that is news.
func (m *machines) set(name string, now machine) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[name] == now {
		return false
	}
	if m.all == nil {
		m.all = map[string]machine{}
	}
	if m.all[name] = now; now == (machine{}) {
		delete(m.all, name)
	}
	m.unusual.Store(int64(len(m.all)))
	return true
}

// machineOf is what counts of a node of Kubernetes'.
func machineOf(node *corev1.Node) machine {
	m := machine{cordoned: node.Spec.Unschedulable}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			m.unreachable = c.Status == corev1.ConditionUnknown
		}
	}
	return m
}

// cordonTaint is what Kubernetes puts on a cordoned machine.
var cordonTaint = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// leavesCordoned tells whether a pod has to leave a cordoned machine: one that tolerates it would only come back.
func leavesCordoned(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), &cordonTaint, false)
	})
}

// machineIndex finds the pods of a machine.
const machineIndex = "spec.nodeName"

// watchMachines lets the reconciler look at the clusters with pods on a machine when that is cordoned or lost.
func (r *Reconciler) watchMachines(ctx context.Context, m ctrl.Manager, b *ctrl.Builder) error {
	err := m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, machineIndex, func(o client.Object) []string {
		return []string{o.(*corev1.Pod).Spec.NodeName}
	})
	if err != nil {
		return fmt.Errorf("indexing pods by machine: %w", err)
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	changed := func(ctx context.Context, o client.Object, now machine, q queue) {
		if !r.machines.set(o.GetName(), now) {
			return
		}
		pods := &corev1.PodList{}
		if err := r.Client.List(ctx, pods, client.MatchingFields{machineIndex: o.GetName()}); err != nil {
			log.FromContext(ctx).Error(err, "The pods of a machine cannot be listed", "machine", o.GetName())
			return
		}
		for i := range pods.Items {
			for _, request := range clusterOf(ctx, &pods.Items[i]) {
				q.Add(request)
			}
		}
	}
	b.Watches(&corev1.Node{}, handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			changed(ctx, e.Object, machineOf(e.Object.(*corev1.Node)), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			changed(ctx, e.ObjectNew, machineOf(e.ObjectNew.(*corev1.Node)), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			changed(ctx, e.Object, machine{}, q)
		},
	})
	return nil
}

// machineFor is the machine of a pod, as far as it concerns that.
func (r *Reconciler) machineFor(pod *corev1.Pod) machine {
	if r.machines.unusual.Load() == 0 {
		return machine{} // thousands of pods ask
	}
	m := r.machines.of(pod.Spec.NodeName)
	if m.cordoned {
		m.cordoned = leavesCordoned(pod)
	}
	return m
}

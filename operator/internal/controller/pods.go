package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Pods finds the pods of a cluster among those in a manager's cache. The cache itself can only be asked for copies, which
// for a cluster of thousands would cost more than all else.
type Pods struct {
	mu sync.RWMutex
	// indexers are the informers' stores: one, or one for each namespace that the operator looks at.
	indexers []toolscache.Indexer
}

// podIndex is the name of the index of pods by the cluster's namespace and name.
const podIndex = "cluster"

// NewInformer makes the cache's informers (cache.Options), and keeps the stores of those for pods.
func (p *Pods) NewInformer(from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	_, pods := of.(*corev1.Pod)
	if pods {
		indexers[podIndex] = func(o any) ([]string, error) {
			pod := o.(*corev1.Pod)
			return []string{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[contract.LabelCluster]}.String()}, nil
		}
	}
	informer := toolscache.NewSharedIndexInformer(from, of, resync, indexers)
	if pods {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.indexers = append(p.indexers, informer.GetIndexer())
	}
	return informer
}

// of are the pods of a cluster. They are the cache's own: what changes one, copies that.
func (p *Pods) of(cluster types.NamespacedName) ([]*corev1.Pod, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var pods []*corev1.Pod
	for _, indexer := range p.indexers {
		found, err := indexer.ByIndex(podIndex, cluster.String())
		if err != nil {
			return nil, err
		}
		if pods == nil {
			pods = make([]*corev1.Pod, 0, len(found))
		}
		for _, o := range found {
			pods = append(pods, o.(*corev1.Pod))
		}
	}
	return pods, nil
}

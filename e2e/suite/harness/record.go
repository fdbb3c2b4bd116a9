//go:build e2e

package harness

import (
	"context"
	"sync"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Record is what a watch has seen of a cluster.
type Record struct {
	mu   sync.Mutex
	seen []*v1alpha1.SlurmCluster
}

// Watch records every state of the cluster from now on, so that a short one is not missed.
func (c *Cluster) Watch() *Record {
	c.Helper()
	list := &v1alpha1.SlurmClusterList{}
	ctx, cancel := context.WithCancel(c.Ctx)
	watcher, err := c.Kube.Watch(ctx, list, client.InNamespace(c.Namespace), client.MatchingFields{"metadata.name": c.Called})
	require.NoError(c, err)
	r := &Record{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if o, ok := event.Object.(*v1alpha1.SlurmCluster); ok {
				r.mu.Lock()
				r.seen = append(r.seen, o)
				r.mu.Unlock()
			}
		}
	}()
	c.Cleanup(func() {
		watcher.Stop()
		cancel()
		<-done
	})
	return r
}

// Saw tells whether any state since then was as check wants it.
func (r *Record) Saw(check func(*v1alpha1.SlurmCluster) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.seen {
		if check(o) {
			return true
		}
	}
	return false
}

// Story is all that was seen, a line each.
func (r *Record) Story() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]string, 0, len(r.seen))
	for _, o := range r.seen {
		lines = append(lines, Say(o))
	}
	return lines
}

//go:build e2e

package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

const (
	mostPeople       = 20
	perPerson        = 2
	perNamespace     = 6
	ceilingsLimit    = 25 * time.Minute
	ceilingsClusters = 24 // CEILINGS_CLUSTERS says another number
)

// TestCeilings: up to twenty people create and delete clusters in random order, and ask for more than their class allows. At every
// moment, no more clusters are let in than it allows; all that are wanted for long enough are let in in the end; and nothing
// stays.
func TestCeilings(t *testing.T) {
	t.Parallel()
	e := harness.NewFor(t, ceilingsLimit)
	total, seed := ceilingsClusters, uint64(time.Now().UnixNano())
	for name, read := range map[string]func(uint64){
		"CEILINGS_CLUSTERS": func(n uint64) { total = int(n) }, "CEILINGS_SEED": func(n uint64) { seed = n },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			require.NoError(t, err, name)
			read(n)
		}
	}
	people := min(mostPeople, max(1, total/4)) // so that each can ask for too many
	t.Logf("%d clusters of %d people, CEILINGS_SEED=%d", total, people, seed)
	own := class(e, v1alpha1.SlurmClusterClassSpec{
		Defaults: v1alpha1.ClassDefaults{NodeSets: []v1alpha1.NodeSet{harness.NodeSet("cpu", 1)}},
		Limits: v1alpha1.ClassLimits{
			ClustersPerUser: ptr.To[int32](perPerson), ClustersPerNamespace: ptr.To[int32](perNamespace), Nodes: ptr.To[int32](1),
		},
	})
	const group = "e2e:people"
	require.NoError(t, e.Kube.Create(e.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "people", Namespace: e.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}))
	all := min(perNamespace, people*perPerson)
	guard := watchCeilings(e, all)
	var wg sync.WaitGroup
	for i := range people {
		name := fmt.Sprintf("person-%d", i)
		as, err := e.As(name, group)
		require.NoError(t, err)
		share := total / people
		if i < total%people {
			share++
		}
		p := &person{e: e, as: as, name: name, class: own, random: rand.New(rand.NewPCG(seed, uint64(i))), guard: guard}
		wg.Go(func() { p.live(share) })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	t.Logf("%d were let in, %d at once at most; %d jobs ran", len(guard.ever), guard.most, guard.jobs)
	require.Equal(t, all, guard.most, "they asked for all that there was")
	e.Eventually(harness.Patience, "nothing is left", func() error {
		if left := leftovers(e.Cluster("any")); len(left) > 0 {
			return fmt.Errorf("there is %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// guard follows the clusters of a namespace in the order in which they changed.
type guard struct {
	mu sync.Mutex
	// in are the clusters that are let in, with their owners.
	in map[types.UID]string
	// ever are those that were.
	ever       map[types.UID]bool
	most, jobs int
	// all is how many there can be, and full is closed when there were as many.
	all  int
	full chan struct{}
}

// watchCeilings fails the test at the first moment in which more clusters are let in than their class allows.
func watchCeilings(e *harness.Env, all int) *guard {
	g := &guard{in: map[types.UID]string{}, ever: map[types.UID]bool{}, all: all, full: make(chan struct{})}
	ctx, stop := context.WithCancel(e.Ctx)
	w, err := e.Watch(ctx, &v1alpha1.SlurmClusterList{}, client.InNamespace(e.Namespace))
	require.NoError(e, err)
	ended := make(chan struct{})
	e.Cleanup(func() {
		stop()
		w.Stop()
		<-ended
	})
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			if ctx.Err() != nil {
				return // a watch that is stopped may say that it could not read on
			}
			o, is := event.Object.(*v1alpha1.SlurmCluster)
			if !is {
				e.Errorf("the watch says %v", event.Object)
				return
			}
			if err := g.see(event.Type, o); err != nil {
				e.Error(err)
				return
			}
		}
	}()
	return g
}

func (g *guard) see(kind watch.EventType, o *v1alpha1.SlurmCluster) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind == watch.Deleted || o.DeletionTimestamp != nil {
		delete(g.in, o.UID)
		return nil
	}
	if o.Status.Granted == nil {
		return nil
	}
	owner := o.Annotations[contract.AnnotationOwner]
	g.in[o.UID], g.ever[o.UID] = owner, true
	if len(g.in) > g.most {
		if g.most = len(g.in); g.most == g.all {
			close(g.full)
		}
	}
	of := 0
	for _, other := range g.in {
		if other == owner {
			of++
		}
	}
	if len(g.in) > perNamespace || of > perPerson {
		return fmt.Errorf("cluster %s of %s is let in as number %d of the namespace and number %d of its owner", o.Name, owner, len(g.in), of)
	}
	return nil
}

func (g *guard) jobRan() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.jobs++
}

// person is somebody who makes clusters.
type person struct {
	e      *harness.Env
	as     *kube.Kube
	name   string
	class  *v1alpha1.SlurmClusterClass
	random *rand.Rand
	guard  *guard

	made int
	mine []string
}

// live makes as many clusters as there are to be made, and deletes each at some time. It uses no more than Errorf, as it is not
// the test's own goroutine.
func (p *person) live(share int) {
	// One more than allowed is asked for at first, and then now and then. Nobody gives a place back before all are taken.
	for p.made < min(share, perPerson+1) {
		if err := p.create(); err != nil {
			p.e.Errorf("%s: %v", p.name, err)
			return
		}
	}
	select {
	case <-p.guard.full:
	case <-time.After(harness.Patience):
		p.e.Errorf("%s: not all of %d places are taken, although more was asked for", p.name, p.guard.all)
		return
	}
	for (p.made < share || len(p.mine) > 0) && !p.e.Failed() {
		var err error
		if p.made < share && len(p.mine) <= perPerson && p.random.IntN(3) > 0 || len(p.mine) == 0 {
			err = p.create()
		} else {
			err = p.end(p.random.IntN(len(p.mine)))
		}
		if err != nil {
			p.e.Errorf("%s: %v", p.name, err)
			return
		}
	}
}

func (p *person) create() error {
	object := func(changes ...harness.Change) *v1alpha1.SlurmCluster {
		o := p.e.Object(fmt.Sprintf("%s-%d", p.name, p.made), append(changes, ofClass(p.class))...)
		o.Annotations = map[string]string{contract.AnnotationOwner: p.name}
		return o
	}
	if p.random.IntN(4) == 0 {
		if err := p.as.Create(p.e.Ctx, object(nodes(2))); err == nil || !strings.Contains(err.Error(), "may have 1 nodes at most, and has 2") {
			return fmt.Errorf("a cluster that is too large: %w", err)
		}
	}
	o := object(noNodeSets)
	if err := p.as.Create(p.e.Ctx, o); err != nil {
		return err
	}
	p.made++
	p.mine = append(p.mine, o.Name)
	return nil
}

// end deletes a cluster: as it is, or after it was used, which some have to wait for until others are gone.
func (p *person) end(i int) error {
	c := p.e.Cluster(p.mine[i])
	if p.random.IntN(3) > 0 {
		if err := p.use(c); err != nil {
			return err
		}
	}
	p.mine = append(p.mine[:i], p.mine[i+1:]...)
	return p.as.Delete(p.e.Ctx, &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Called}})
}

// use runs a job, unless the cluster has no place because of its own owner's others: nobody else ends those.
func (p *person) use(c *harness.Cluster) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(ceilingsLimit / 2); ; <-tick.C {
		o := &v1alpha1.SlurmCluster{}
		if err := p.as.Get(p.e.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Called}, o); err != nil {
			return err
		}
		switch {
		case p.e.Failed():
			return errors.New("another has failed")
		case harness.Ready(o):
			out, err := c.Try("srun", "hostname")
			if err == nil && out != "cpu-0" {
				err = fmt.Errorf("a job of %s says %s", c.Called, out)
			}
			p.guard.jobRan()
			return err
		case o.Status.Granted == nil && len(p.mine) > 1:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%s is neither let in nor refused: %s", c.Called, harness.Say(o))
		}
	}
}

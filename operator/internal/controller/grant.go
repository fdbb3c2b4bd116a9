package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/class"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// complete finds the cluster's class and fills in what its owner has left to it. The object that was read stays as it is.
func (s *scope) complete(ctx context.Context) error {
	classes, err := s.classes(ctx)
	if err != nil {
		return err
	}
	s.className, s.class = class.Of(s.cluster, classes, s.exists())
	completed := *s.cluster
	if s.class != nil {
		class.Complete(&completed.Spec, s.class)
	}
	s.use = class.Use(s.className, &completed.Spec)
	s.cluster = desired.WithHome(desired.Suspended(&completed))
	s.want.Object = s.cluster
	return nil
}

// exists tells whether there is more of the cluster than its object.
func (s *scope) exists() bool { return s.configMap.UID != "" }

func (r *Reconciler) classes(ctx context.Context) ([]v1alpha1.SlurmClusterClass, error) {
	if !r.WatchClasses {
		return nil, nil
	}
	list := &v1alpha1.SlurmClusterClassList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing SlurmClusterClasses: %w", err)
	}
	return list.Items, nil
}

// clustersOf finds the clusters that a class may concern.
func (r *Reconciler) clustersOf(ctx context.Context, changed client.Object) []reconcile.Request {
	list := &v1alpha1.SlurmClusterList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil // every cluster is looked at again after a while
	}
	var requests []reconcile.Request
	for i := range list.Items {
		c := &list.Items[i]
		granted := c.Status.Granted
		if c.Spec.ClassName == changed.GetName() || granted == nil || granted.ClassName == changed.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return requests
}

// fits tells whether the cluster may become what it is to be. One that may not stays what it is, and one that is not yet
// anything becomes nothing; its problem says why.
func (s *scope) fits(ctx context.Context) (bool, error) {
	if s.class == nil {
		if s.className != "" {
			s.problem(v1alpha1.ReasonNoClass, class.Missing(s.className))
			return false, nil
		}
		s.granted = s.use
		return s.hasNodes(), nil
	}
	granted := s.cluster.Status.Granted
	if granted == nil && s.exists() {
		granted = s.use // it is older than classes
	}
	var fresh, old []string
	for _, excess := range class.Exceeds(&s.cluster.Spec, s.use, granted, s.class, s.SlurmImage) {
		if excess.New {
			fresh = append(fresh, excess.Message)
		} else {
			old = append(old, excess.Message)
		}
	}
	if len(fresh) > 0 {
		s.problem(v1alpha1.ReasonExceedsClass, strings.Join(fresh, "; "))
		return false, nil
	}
	if len(old) > 0 {
		s.excess = &status.Problem{Reason: v1alpha1.ReasonExceedsClass,
			Message: "the class has changed since, which takes nothing away: " + strings.Join(old, "; ")}
	}
	if granted == nil || granted.ClassName != s.className {
		if ok, err := s.takePlace(ctx); !ok || err != nil {
			return false, err
		}
	}
	s.granted = s.use
	return s.hasNodes(), nil
}

// hasNodes tells whether there is a node set.
func (s *scope) hasNodes() bool {
	if len(s.cluster.Spec.NodeSets) > 0 {
		return true
	}
	from := "it has no class"
	if s.class != nil {
		from = "class " + s.class.Name + " has none"
	}
	s.problem(v1alpha1.ReasonInvalidConfig, "the cluster has no node sets, and "+from+": add one to spec.nodeSets")
	return false
}

// places are the clusters that count against limits of classes, from the moment on in which they are let in: many clusters are
// looked at at the same time.
type places struct {
	mu    sync.Mutex
	taken map[types.UID]string
}

// takePlace lets the cluster in if its class has a place for it, and writes that down before anything is made: the next
// operator must not give the place away once more.
func (s *scope) takePlace(ctx context.Context) (bool, error) {
	limits := &s.class.Spec.Limits
	if limits.ClustersPerNamespace == nil && limits.ClustersPerUser == nil {
		return true, nil
	}
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	inNamespace, ofUser, err := s.countOthers(ctx)
	if err != nil {
		return false, err
	}
	owner := s.cluster.Annotations[contract.AnnotationOwner]
	switch {
	case limits.ClustersPerNamespace != nil && inNamespace >= *limits.ClustersPerNamespace:
		s.problem(v1alpha1.ReasonExceedsClass, fmt.Sprintf("class %s allows %d of its clusters in a namespace, and %s has %d: delete one, or wait until one ends",
			s.class.Name, *limits.ClustersPerNamespace, s.cluster.Namespace, inNamespace))
		return false, nil
	case limits.ClustersPerUser != nil && owner == "":
		s.problem(v1alpha1.ReasonExceedsClass, fmt.Sprintf("class %s counts clusters by user: annotation %s has to name the user who makes the cluster",
			s.class.Name, contract.AnnotationOwner))
		return false, nil
	case limits.ClustersPerUser != nil && ofUser >= *limits.ClustersPerUser:
		s.problem(v1alpha1.ReasonExceedsClass, fmt.Sprintf("class %s allows a user %d of its clusters, and %s has %d: delete one, or wait until one ends",
			s.class.Name, *limits.ClustersPerUser, owner, ofUser))
		return false, nil
	}
	granted := s.cluster.DeepCopy()
	granted.Status.Granted = s.use
	if err := s.Client.Status().Patch(ctx, granted, client.MergeFrom(s.cluster)); err != nil {
		return false, fmt.Errorf("writing down that the cluster is let in: %w", err)
	}
	s.places.taken[s.cluster.UID] = s.className
	return true, nil
}

// countOthers counts the other clusters that the class has let in.
func (s *scope) countOthers(ctx context.Context) (inNamespace, ofUser int32, err error) {
	list := &v1alpha1.SlurmClusterList{}
	if err := s.Client.List(ctx, list); err != nil {
		return 0, 0, fmt.Errorf("listing SlurmClusters: %w", err)
	}
	if s.places.taken == nil {
		s.places.taken = map[types.UID]string{}
	}
	there := make(map[types.UID]bool, len(list.Items))
	for i := range list.Items {
		other := &list.Items[i]
		there[other.UID] = true
		let := s.places.taken[other.UID]
		if other.Status.Granted != nil {
			let = other.Status.Granted.ClassName
		}
		if other.UID == s.cluster.UID || let != s.className {
			continue
		}
		if other.Namespace == s.cluster.Namespace {
			inNamespace++
		}
		if other.Annotations[contract.AnnotationOwner] == s.cluster.Annotations[contract.AnnotationOwner] {
			ofUser++
		}
	}
	for uid := range s.places.taken {
		if !there[uid] {
			delete(s.places.taken, uid)
		}
	}
	return inNamespace, ofUser, nil
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/apply"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// scope is one look at one cluster: what was observed, and what was found out on the way.
type scope struct {
	*Reconciler
	cluster *v1alpha1.SlurmCluster
	// began is when this look began.
	began  time.Time
	memory *memory
	want   desired.Cluster

	service   *corev1.Service
	nodes     *corev1.Service
	configMap *corev1.ConfigMap
	budget    *policyv1.PodDisruptionBudget
	policy    *networkingv1.NetworkPolicy
	// controllerPod is nil while there is none.
	controllerPod *corev1.Pod
	// versionPod is asked for the version of an image; nil while there is no such pod.
	versionPod *corev1.Pod
	// slurmdPods are the slurmd pods of this cluster.
	slurmdPods []*slurmdPod
	// podAt is the pod of each node; podOf makes it.
	podAt map[string]*slurmdPod

	keys       map[string][]byte
	configHash string

	slurm Slurm
	// known tells that slurmctld has answered.
	known bool
	answers
	// asked are the nodes that slurmctld was asked for in this look, nil if for all.
	asked map[string]bool

	// class is the cluster's class, className its name, and use what the cluster has of what a class may limit. excess is what
	// it has beyond the class since that has changed.
	class     *v1alpha1.SlurmClusterClass
	className string
	use       *v1alpha1.Granted
	excess    *status.Problem
	// granted is what the class allows to the cluster in this look; nil if that is what it allowed before.
	granted *v1alpha1.Granted

	// gathers tells that the cluster waits for the last of its nodes, withoutNodes that it has none until there is room for
	// all, and gathered that it has had all of them.
	gathers, withoutNodes, gathered bool

	// awaits tells that something will have to be done in a moment, when it has lasted: a node that has become busy is not
	// protected yet.
	awaits bool

	life     status.Life
	problems []status.Problem
	waiting  *status.Problem
	working  *status.Problem
	acted    bool
}

func (r *Reconciler) newScope(c *v1alpha1.SlurmCluster) *scope {
	return &scope{
		Reconciler: r,
		cluster:    c,
		began:      r.Clock.Now(),
		memory:     r.memories.of(client.ObjectKeyFromObject(c), c.UID),
		want:       desired.Cluster{Object: c, DefaultImage: r.SlurmImage, OperatorNamespace: r.OperatorNamespace, ImageVolumes: r.ImageVolumes},
		service:    &corev1.Service{}, nodes: &corev1.Service{},
		configMap: &corev1.ConfigMap{}, budget: &policyv1.PodDisruptionBudget{},
		policy: &networkingv1.NetworkPolicy{},
	}
}

// observe reads the cluster's children.
func (s *scope) observe(ctx context.Context) error {
	for name, o := range map[string]client.Object{
		s.want.ConfigMapName(): s.configMap, s.want.NodesServiceName(): s.nodes, s.want.BudgetName(): s.budget,
		s.want.NetworkPolicyName(): s.policy,
	} {
		if err := s.read(ctx, name, o); err != nil {
			return err
		}
	}
	if err := s.read(ctx, s.want.ControllerName(), s.service); err != nil {
		return err
	}
	return s.readPods()
}

func (s *scope) read(ctx context.Context, name string, o client.Object) error {
	err := s.Client.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %T %s: %w", o, name, err)
	}
	return nil
}

func (s *scope) readPods() error {
	pods, err := s.Pods.of(client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	s.takePods(pods)
	return nil
}

// work is the table of contents of a reconciliation. It ends early where nothing further can be done yet;
// what keeps it from going on is then among the problems. An error is one that only a retry can help.
func (s *scope) work(ctx context.Context) error {
	fits, err := s.fits(ctx)
	switch {
	case err != nil:
		return s.judge(ctx, err)
	case !fits && s.exists():
		return s.watch(ctx)
	case !fits:
		return nil
	}
	return s.do(ctx, []func(context.Context) error{
		s.chooseImages,
		s.ensureKeysAndServices,
		s.spreadKeys,
		s.ensureConfig,
		s.ensureHome,
		s.switchOff,
		s.ensureController,
		s.askSlurm,
		s.replaceController,
		s.refreshConfig,
		s.checkVolumes,
		s.listen,
		s.nameNodes,
		s.gather,
		s.runNodes,
		s.rememberNodesHave,
		s.hastenRequeued,
		s.markBusy,
		s.watchSizes,
		s.findPodProblems,
	})
}

// watch looks after a cluster that may not become what its spec wants: it stays what it is.
func (s *scope) watch(ctx context.Context) error {
	s.configHash = configHash(s.configMap.Data)
	s.want.ControllerIP = s.service.Spec.ClusterIP
	return s.do(ctx, []func(context.Context) error{s.ensureKeys, s.askSlurm, s.listen, s.markBusy, s.findPodProblems})
}

// do takes steps until one fails.
func (s *scope) do(ctx context.Context, steps []func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return s.judge(ctx, err)
		}
	}
	return nil
}

// judge turns an error into a problem for the user where it is one, and returns it otherwise.
func (s *scope) judge(ctx context.Context, err error) error {
	var conflict *apply.ConflictError
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Kubernetes deletes a namespace's pods before its SlurmClusters.
		s.problem(v1alpha1.ReasonPodsRefused, "the namespace is being deleted")
		return s.hasten(ctx, client.ObjectKeyFromObject(s.cluster))
	case errors.As(err, &conflict):
		s.problem(v1alpha1.ReasonNameConflict, err.Error())
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		s.problem(v1alpha1.ReasonApplyFailed, err.Error())
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		log.FromContext(ctx).V(1).Info("Our view was out of date, looking again", "error", err.Error())
	default:
		return err
	}
	return nil
}

// workOn tells of something that is being done, in condition Progressing.
func (s *scope) workOn(format string, args ...any) {
	s.working = &status.Problem{Reason: v1alpha1.ReasonUpdating, Message: fmt.Sprintf(format, args...)}
}

func (s *scope) problem(reason, message string) {
	s.problems = append(s.problems, status.Problem{Reason: reason, Message: message})
}

func (s *scope) log(ctx context.Context) logr.Logger { return log.FromContext(ctx) }

// Periods of looking again.
const (
	// soon is for a cluster in which something happens: Kubernetes does not tell when slurmctld begins to
	// answer or a slurmd registers.
	soon = 100 * time.Millisecond
	// lookShare bounds the part of the time that looks at one cluster take: where machines are busy, answers come late, and
	// asking often would make them come later still. slowed is the longest that this makes soon.
	lookShare = 4
	slowed    = time.Second
	// later is for a cluster that is not ready although nothing happens any more.
	later = 2 * time.Second
	// wordTime is how long a node whose container was resized may take to say what it would like to be.
	wordTime = 10 * time.Second
	// lively is how long after the last change something may still be happening.
	lively = 30 * time.Second
)

// untilDue is how long to wait where otherwise would be next: not beyond the time at which the cluster ends, or its users
// are to be told.
func (s *scope) untilDue(next time.Duration) time.Duration {
	due := s.memory.due
	if due.IsZero() {
		return next
	}
	return min(next, max(soon, due.Sub(s.Clock.Now())))
}

// nextLook is how long to wait before the next look.
func (s *scope) nextLook(changed bool) time.Duration {
	now := s.Clock.Now()
	if changed || s.acted || s.memory.generation != s.cluster.Generation {
		s.memory.activity, s.memory.generation = now, s.cluster.Generation
	}
	switch {
	case s.off():
		return s.PollInterval // only time changes something
	case now.Sub(s.memory.sizeChanged) < wordTime:
		return min(5*soon, s.PollInterval)
	case now.Before(s.memory.requeueUntil) && s.settled():
		return min(requeueEvery, s.PollInterval)
	case s.awaits && s.settled():
		return min(protectAfter, s.PollInterval)
	case s.settled() && len(s.problems) == 0:
		return s.idleIn()
	case !s.known && (s.controllerPod == nil || s.controllerPod.Status.PodIP == ""):
		// Nobody can be asked, and Kubernetes tells when that changes.
	case now.Sub(s.memory.activity) < lively && s.waiting == nil && !s.settled() && !s.refused():
		return min(max(soon, lookShare*now.Sub(s.began)), slowed)
	}
	return min(later, s.PollInterval)
}

// refused tells whether the API server refuses what the cluster needs: asking more often would not help.
func (s *scope) refused() bool {
	return slices.ContainsFunc(s.problems, func(p status.Problem) bool {
		return p.Reason == v1alpha1.ReasonPodsRefused || p.Reason == v1alpha1.ReasonApplyFailed || p.Reason == v1alpha1.ReasonNameConflict ||
			p.Reason == v1alpha1.ReasonExceedsClass || p.Reason == v1alpha1.ReasonNoClass
	})
}

// settled tells whether nothing is left to do.
func (s *scope) settled() bool {
	for _, c := range s.cluster.Status.Conditions {
		if c.Type == v1alpha1.ConditionProgressing && c.Status == "True" {
			return false
		}
	}
	return s.known && !s.acted
}

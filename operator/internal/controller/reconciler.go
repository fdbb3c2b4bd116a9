// Package controller reconciles SlurmClusters: observe, desire, plan, apply, report.
package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/apply"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// +kubebuilder:rbac:groups=slurmcluster.dev,resources=slurmclusters,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=slurmcluster.dev,resources=slurmclusters/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=slurmcluster.dev,resources=slurmclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=services;configmaps,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Slurm is what the reconciler asks of a cluster's slurmctld.
type Slurm interface {
	Nodes(ctx context.Context) (nodes []slurm.Node, version string, err error)
	Node(ctx context.Context, name string) (slurm.Node, error)
	Jobs(ctx context.Context) ([]slurm.Job, error)
	UpdateNode(ctx context.Context, name string, state slurm.UpdateState, reason string) error
	DeleteNode(ctx context.Context, name string) error
	JobInfos(ctx context.Context) ([]slurm.JobInfo, error)
	CommentJob(ctx context.Context, id int64, comment string) error
	CreateNodes(ctx context.Context, nodes contract.CloudNodes) error
	AwaitEvents(ctx context.Context, after uint64) (uint64, error)
	BeginJob(ctx context.Context, id int64, when time.Time) error
	Config(ctx context.Context) (contract.AgentConfig, error)
	Visitors(ctx context.Context) (contract.AgentVisitors, error)
	Announce(ctx context.Context, text string) error
}

// Reconciler keeps SlurmClusters as their specs want them.
type Reconciler struct {
	// Client reads from caches that hold only our objects, and writes.
	Client client.Client
	// Pods finds the pods in Client's cache.
	Pods *Pods
	// Reader reads from the API server itself.
	Reader client.Reader
	// Recorder records events for users.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// NewSlurm makes a client to the slurmctld at an address.
	NewSlurm func(address string, jwtKey []byte) Slurm
	// NewListener makes one that waits for events, for longer than others wait for an answer.
	NewListener func(address string, jwtKey []byte) Slurm
	// OperatorNamespace is where the operator's own pods are; empty if it runs elsewhere. Clusters then get no NetworkPolicy.
	OperatorNamespace string
	// ImageVolumes tells that Kubernetes can mount an image as a volume.
	ImageVolumes bool
	// SlurmImage is the image of clusters that name none.
	SlurmImage string
	// PollInterval is how often slurmctld is asked for what Kubernetes cannot know, such as job counts.
	PollInterval time.Duration

	// WatchClasses tells that the operator may see SlurmClusterClasses.
	WatchClasses bool
	// WatchMachines tells that the operator may see Kubernetes' nodes, and so empty those that are cordoned.
	WatchMachines bool

	writer   *apply.Writer
	memories memories
	places   places
	machines machines
	events   chan event.GenericEvent
	// stop ends what runs beside reconciliations.
	stop context.Context //nolint:containedctx // the listeners' life is the operator's
}

// workers is how many clusters are worked on at once; most of the time each waits for an answer.
const workers = 16

// SetupWithManager starts the reconciler with a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, m ctrl.Manager) error {
	r.writer = apply.New(r.Client, r.Reader)
	child := handler.EnqueueRequestsFromMapFunc(clusterOf)
	r.events, r.stop = make(chan event.GenericEvent), ctx
	b := ctrl.NewControllerManagedBy(m).
		For(&v1alpha1.SlurmCluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, rotationChanged))).
		Watches(&corev1.Pod{}, child, builder.WithPredicates(podChanged)).
		Watches(&corev1.Service{}, child).
		Watches(&corev1.ConfigMap{}, child).
		Watches(&policyv1.PodDisruptionBudget{}, child).
		Watches(&networkingv1.NetworkPolicy{}, child).
		WatchesRawSource(source.Channel(r.events, &handler.EnqueueRequestForObject{})).
		WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: workers}).
		WithLogConstructor(logFor(m.GetLogger()))
	if r.WatchClasses {
		b.Watches(&v1alpha1.SlurmClusterClass{}, handler.EnqueueRequestsFromMapFunc(r.clustersOf))
	}
	if r.WatchMachines {
		if err := r.watchMachines(ctx, m, b); err != nil {
			return err
		}
	}
	return b.Complete(r)
}

// logFor makes loggers that name the cluster and nothing else. One is made for each look, whether it says something or not:
// controller-runtime's own, with seven values, were 7 % of all work on a thousand clusters that rest.
func logFor(all logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return all
		}
		return all.WithValues("cluster", req.String())
	}
}

// rotationChanged notices that somebody asks for new keys, which is not in the spec.
var rotationChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[contract.AnnotationRotateKeys] != e.ObjectNew.GetAnnotations()[contract.AnnotationRotateKeys]
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// podChanged lets pass what is looked at of a pod: not what others write on it.
var podChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, isOne := e.ObjectOld.(*corev1.Pod)
		is, isTwo := e.ObjectNew.(*corev1.Pod)
		return !isOne || !isTwo || was.UID != is.UID || !was.DeletionTimestamp.Equal(is.DeletionTimestamp) ||
			!maps.Equal(was.Labels, is.Labels) || !maps.Equal(ourAnnotations(was), ourAnnotations(is)) ||
			!reflect.DeepEqual(was.Status, is.Status) || !reflect.DeepEqual(was.Spec, is.Spec)
	},
}

// ourAnnotations are those that the operator or a pod's own programs write.
func ourAnnotations(pod *corev1.Pod) map[string]string {
	ours := maps.Clone(pod.Annotations)
	maps.DeleteFunc(ours, func(key, _ string) bool { return !strings.HasPrefix(key, v1alpha1.SchemeGroupVersion.Group+"/") })
	return ours
}

// clusterOf finds the cluster of a child by its label.
func clusterOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[contract.LabelCluster]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// Reconcile brings one cluster a step further and reports how it is.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cluster := &v1alpha1.SlurmCluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.hasten(ctx, req.NamespacedName)
		}
		return reconcile.Result{}, fmt.Errorf("reading SlurmCluster %s: %w", req.NamespacedName, err)
	}
	if cluster.DeletionTimestamp != nil {
		return reconcile.Result{}, r.hasten(ctx, req.NamespacedName)
	}
	s := r.newScope(cluster)
	if err := s.observe(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if err := s.complete(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if s.rests(ctx) {
		return reconcile.Result{RequeueAfter: s.untilDue(r.PollInterval)}, nil
	}
	err := s.work(ctx)
	gone, liveErr := s.live(ctx)
	if gone {
		return reconcile.Result{}, nil
	}
	changed, reportErr := s.report(ctx)
	if err := errors.Join(err, liveErr, reportErr); err != nil {
		return reconcile.Result{}, err
	}
	next := s.nextLook(changed)
	s.rememberRest(changed)
	return reconcile.Result{RequeueAfter: s.untilDue(next)}, nil
}

// AnswerTimeout is how long a slurmctld may take to answer: they are near, and one that does not answer must not hold a
// worker for long. ListenTimeout is for a request that waits for events.
const (
	AnswerTimeout = 5 * time.Second
	ListenTimeout = (contract.AgentEventsWait + 5) * time.Second
)

// idleConnection is a little longer than a usual poll interval.
const idleConnection = 20 * time.Second

// HTTPClient is the client with which slurmctlds are asked.
func HTTPClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		// A thousand clusters are a thousand connections: small buffers, and none for what is seldom asked.
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: idleConnection, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10, Proxy: nil},
	}
}

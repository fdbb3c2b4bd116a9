package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	// Resource is the name of the API resource.
	Resource = "slurmclusters"
	// QualifiedResource names it without ambiguity.
	QualifiedResource = Resource + ".slurmcluster.dev"
	// ClassResource is the name of the API resource of classes.
	ClassResource = "slurmclusterclasses"
	// QualifiedClasses names it without ambiguity.
	QualifiedClasses = ClassResource + ".slurmcluster.dev"
	// QualifiedSingular is how kubectl names a single object.
	QualifiedSingular = "slurmcluster.slurmcluster.dev"
	// Kind is the kind of the objects.
	Kind = "SlurmCluster"
	// FieldManager is under what name the API server keeps what the plugin writes.
	FieldManager = "kubectl-slurmcluster"
)

// Clusters reads and writes the SlurmClusters of one namespace.
type Clusters interface {
	Create(context.Context, *v1alpha1.SlurmCluster, metav1.CreateOptions) (*v1alpha1.SlurmCluster, error)
	Get(context.Context, string, metav1.GetOptions) (*v1alpha1.SlurmCluster, error)
	List(context.Context, metav1.ListOptions) (*v1alpha1.SlurmClusterList, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*v1alpha1.SlurmCluster, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

var errNotInstalled = errors.New(
	"the SlurmCluster operator is not installed in this Kubernetes; install it with: kubectl slurmcluster install")

// ErrNotFound is the error of GetCluster for a cluster that does not exist.
var ErrNotFound = errors.New("see: kubectl slurmcluster list -A")

// Explain puts the errors of requests for SlurmClusters into sentences that say what to do.
func Explain(err error) error {
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return errNotInstalled // the server does not know the resource at all
	}
	return err
}

// GetCluster reads a SlurmCluster.
func GetCluster(ctx context.Context, clusters Clusters, namespace, name string) (*v1alpha1.SlurmCluster, error) {
	cluster, err := clusters.Get(ctx, name, metav1.GetOptions{})
	if err = Explain(err); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no SlurmCluster %q in namespace %q; %w", name, namespace, ErrNotFound)
	}
	return cluster, err
}

// ControllerPod is the name of the pod of a cluster's slurmctld.
func ControllerPod(cluster string) string {
	return cluster + "-controller-0"
}

// PodSelector selects the pods of a cluster, or those of one Slurm node of it.
func PodSelector(cluster, node string) string {
	selector := contract.LabelCluster + "=" + cluster
	if node != "" {
		selector += "," + contract.LabelNode + "=" + node
	}
	return selector
}

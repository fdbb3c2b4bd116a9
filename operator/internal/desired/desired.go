// Package desired says which objects a SlurmCluster wants: one file per child object, each a pure function
// of Cluster.
package desired

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Cluster is what every child object is made from.
type Cluster struct {
	// Object is the cluster that is wanted.
	Object *v1alpha1.SlurmCluster
	// DefaultImage is the Slurm image of clusters that name none.
	DefaultImage string
	// ControllerImage and NodeImage are what the controller pod and slurmd pods are to have now, while the wanted image cannot
	// be that of all; Image where they are empty.
	ControllerImage, NodeImage string
	// ImageVolumes tells that Kubernetes can mount an image as a volume.
	ImageVolumes bool
	// OperatorNamespace is where the operator's pods are; empty if it runs elsewhere.
	OperatorNamespace string
	// ControllerOff tells that there is to be no controller pod, because the cluster is suspended.
	ControllerOff bool
	// ControllerIP is the IP of the controller Service; slurmds and configuration need it.
	ControllerIP string
	// VolumesHash is that of the contents of volumes that pods do not see change; empty if there are none.
	VolumesHash string
	// KeyRotation is the AnnotationRotateKeys that the cluster's keys were made for; empty for the first ones.
	KeyRotation string
	// GresInUse are the generic resources of slurmd pods that are there, wanted still or not.
	GresInUse []string
}

// ControllerName is the name of the controller's Service.
func (c Cluster) ControllerName() string { return c.Object.Name + "-controller" }

// ControllerPodName is the name of the controller pod, which is also its hostname.
func (c Cluster) ControllerPodName() string { return c.ControllerName() + "-0" }

// StateClaimName is the name of the claim that slurmctld keeps its state on, where the cluster asks for storage.
func (c Cluster) StateClaimName() string { return "state-" + c.ControllerPodName() }

// NodesServiceName is the name of the headless Service that gives nodes their DNS names.
func (c Cluster) NodesServiceName() string { return c.Object.Name + "-nodes" }

// SecretName is the name of the Secret with the cluster's keys.
func (c Cluster) SecretName() string { return c.Object.Name + "-keys" }

// ConfigMapName is the name of the ConfigMap with Slurm's configuration files.
func (c Cluster) ConfigMapName() string { return c.Object.Name + "-config" }

// Image is the wanted Slurm image of the cluster's pods.
func (c Cluster) Image() string {
	if c.Object.Spec.Image != "" {
		return c.Object.Spec.Image
	}
	return c.DefaultImage
}

// NodeName is the Slurm name and hostname of a node.
func NodeName(set string, index int) string { return fmt.Sprintf("%s-%d", set, index) }

// PodName is the name of a node's pod.
func (c Cluster) PodName(set string, index int) string {
	return c.Object.Name + "-" + NodeName(set, index)
}

// Selector finds all objects of the cluster.
func (c Cluster) Selector() map[string]string {
	return map[string]string{contract.LabelCluster: c.Object.Name}
}

// labels of a child object with the given role; further pairs are added.
func (c Cluster) labels(role string, pairs ...string) map[string]string {
	m := map[string]string{
		"app.kubernetes.io/name":       "slurmcluster",
		"app.kubernetes.io/instance":   c.Object.Name,
		"app.kubernetes.io/managed-by": contract.OperatorName,
		contract.LabelCluster:          c.Object.Name,
	}
	if role != "" {
		m["app.kubernetes.io/component"] = role
		m[contract.LabelRole] = role
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// owner makes Kubernetes delete the child with the cluster, and refuses a child that has another owner.
func (c Cluster) owner() *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind("SlurmCluster").
		WithName(c.Object.Name).
		WithUID(c.Object.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// OwnedBy tells whether an object is this cluster's child.
func (c Cluster) OwnedBy(o metav1.Object) bool { return metav1.IsControlledBy(o, c.Object) }

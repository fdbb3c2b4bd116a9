package desired

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// homeVolume is the name of the shared volume that is the home directory.
const homeVolume = "home"

// HomeClaimName is the name of the claim of the shared home; empty if there is none.
func (c Cluster) HomeClaimName() string {
	home := c.Object.Spec.Home
	if home == nil {
		return ""
	}
	return cmp.Or(home.ClaimName, c.Object.Name+"-home")
}

// WithHome returns the cluster with its shared home among its volumes, c itself if it has none; c stays as it is.
func WithHome(c *v1alpha1.SlurmCluster) *v1alpha1.SlurmCluster {
	if c.Spec.Home == nil {
		return c
	}
	out := *c
	out.Spec.Volumes = append(slices.Clone(c.Spec.Volumes), v1alpha1.SharedVolume{
		Name: homeVolume, MountPath: contract.HomeDir,
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: Cluster{Object: c}.HomeClaimName()},
	})
	return &out
}

// HomeClaim is the claim of a new home, nil where the cluster makes none.
func HomeClaim(c Cluster) *corev1.PersistentVolumeClaim {
	home := c.Object.Spec.Home
	if home == nil || home.Size == nil {
		return nil
	}
	return claim(c, c.HomeClaimName(), home.Keep, corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{cmp.Or(home.AccessMode, corev1.ReadWriteMany)},
		StorageClassName: home.StorageClassName,
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *home.Size}},
	})
}

// claim is a claim of the cluster. One that is to be kept belongs to nobody, so that Kubernetes does not delete it with the
// cluster. It is not applied but created: most of a claim cannot change.
func claim(c Cluster, name string, keep bool, spec corev1.PersistentVolumeClaimSpec) *corev1.PersistentVolumeClaim {
	o := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Object.Namespace, Name: name, Labels: c.labels("")},
		Spec:       spec,
	}
	if !keep {
		o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c.Object, v1alpha1.SchemeGroupVersion.WithKind("SlurmCluster"))}
	}
	return o
}

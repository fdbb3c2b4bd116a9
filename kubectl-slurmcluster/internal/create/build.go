package create

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// build makes the object from checked options, and applies --set to it. It leaves defaults to the API server.
func (o *Options) build() (*v1alpha1.SlurmCluster, error) {
	cluster := &v1alpha1.SlurmCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: cli.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace},
		Spec: v1alpha1.SlurmClusterSpec{
			Image:      o.Image,
			Auth:       o.auth,
			NodeSets:   o.nodeSets,
			Partitions: o.partitions,
			Volumes:    o.volumes,
			Network:    o.network,
			Lifecycle:  o.lifecycle,
			ClassName:  o.Class, Home: o.home, AllOrNothing: o.AllOrNothing,
			Config: o.config,
		},
	}
	if o.fromClass {
		cluster.Spec.NodeSets = nil
	}
	if o.owner != "" {
		cluster.Annotations = map[string]string{contract.AnnotationOwner: o.owner}
	}
	if o.wantsStorage() {
		cluster.Spec.Controller.Storage = &v1alpha1.ControllerStorage{Size: o.storage}
		if o.StorageClass != "" {
			cluster.Spec.Controller.Storage.StorageClassName = &o.StorageClass
		}
	}
	for _, text := range o.Set {
		if err := setField(&cluster.Spec, text); err != nil {
			return nil, err
		}
	}
	return cluster, nil
}

func (o *Options) wantsStorage() bool {
	return o.Storage != "" || o.StorageClass != ""
}

func claimVolume(name, claim, path string, readOnly bool) v1alpha1.SharedVolume {
	return v1alpha1.SharedVolume{
		Name:                  name,
		MountPath:             path,
		ReadOnly:              readOnly,
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}
}

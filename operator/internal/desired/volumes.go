package desired

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// runVolumeSize bounds the volumes that hold keys, which are in memory only: it counts as the pod's.
var runVolumeSize = resource.MustParse("16Mi")

func memoryVolume(name string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(
		corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory).WithSizeLimit(runVolumeSize))
}

// tmpSize bounds /tmp where the node set does not.
var tmpSize = resource.MustParse("1Gi")

// tmpVolume is /tmp. A program that fills it must not fill the machine's disk.
func tmpVolume(size *resource.Quantity) *corev1ac.VolumeApplyConfiguration {
	if size == nil {
		size = &tmpSize
	}
	return corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(*size))
}

func diskVolume(name string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(corev1ac.EmptyDirVolumeSource())
}

// withUserVolumes adds the cluster's shared volumes, and a home for the user where none of them is one.
func withUserVolumes(spec *corev1ac.PodSpecApplyConfiguration, volumes []v1alpha1.SharedVolume) {
	for _, v := range volumes {
		spec.WithVolumes(userVolume(v))
	}
	if !mounted(volumes, contract.HomeDir) {
		spec.WithVolumes(diskVolume("home"))
	}
}

func userVolume(v v1alpha1.SharedVolume) *corev1ac.VolumeApplyConfiguration {
	source := corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim, ConfigMap: v.ConfigMap, Secret: v.Secret}
	if v.Image != nil {
		source.Image = &corev1.ImageVolumeSource{Reference: v.Image.Reference, PullPolicy: v.Image.PullPolicy}
	}
	ac := corev1ac.Volume().WithName("user-" + v.Name)
	ac.VolumeSourceApplyConfiguration = *as[corev1ac.VolumeSourceApplyConfiguration](source)
	return ac
}

// as turns an API type into its apply configuration: both have the same JSON.
func as[T any](from any) *T {
	to := new(T)
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(fmt.Sprintf("%T and its apply configuration differ in JSON: %v", from, err))
	}
	return to
}

package desired

import (
	"fmt"
	"path"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// A node set's own image needs nothing of Slurm. The Slurm image is a volume of its pods; where Kubernetes has no such volumes, an
// init container copies what is needed of it.

// bundleVolume is the name of that volume. It has the bundle where the Slurm image has it, so that one is mounted as the other;
// bundleCopy is where the init container sees its parent directory.
const (
	bundleVolume = "slurm"
	bundleCopy   = "/bundle"
)

// accountsVolume has the files that accounts are looked up in, from annotations of the pod: such a volume needs no object beside the
// pod, and an image volume cannot be mounted on a file.
const accountsVolume = "accounts"

// accountFiles are those files by the annotations that hold them. Slurm asks for the names of the user and the group, which
// another image does not have.
var accountFiles = []struct{ annotation, file, content string }{
	{contract.AnnotationPasswd, "/etc/passwd", fmt.Sprintf(`root:x:0:0:root:/root:/bin/sh
%s:x:%d:%d::%s:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/bin/false
`, contract.UserName, contract.UserID, contract.GroupID, contract.HomeDir)},
	{contract.AnnotationGroup, "/etc/group", fmt.Sprintf(`root:x:0:
%s:x:%d:
nogroup:x:65534:
`, contract.UserName, contract.GroupID)},
}

// bundleAnnotations are those that the pods of a set need for its image.
func bundleAnnotations(set v1alpha1.NodeSet) map[string]string {
	annotations := map[string]string{}
	if set.Image != "" {
		for _, a := range accountFiles {
			annotations[a.annotation] = a.content
		}
	}
	return annotations
}

// addBundle brings Slurm's programs to the pods of a set with an image of its own.
func addBundle(c Cluster, spec *corev1ac.PodSpecApplyConfiguration) {
	accounts := corev1ac.DownwardAPIVolumeSource()
	for _, a := range accountFiles {
		accounts.WithItems(corev1ac.DownwardAPIVolumeFile().WithPath(path.Base(a.file)).
			WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath("metadata.annotations['" + a.annotation + "']")))
	}
	spec.WithVolumes(corev1ac.Volume().WithName(accountsVolume).WithDownwardAPI(accounts))
	if !c.ImageVolumes {
		copier := container(c, c.nodeImage(), contract.ContainerBundle).
			WithVolumeMounts(mount(bundleVolume, bundleCopy).WithSubPath(path.Dir(contract.BundleDir)[1:]))
		copier.Command = []string{"cp", "-a", contract.BundleDir, bundleCopy}
		spec.WithInitContainers(copier).WithVolumes(diskVolume(bundleVolume))
		return
	}
	image := corev1ac.ImageVolumeSource().WithReference(c.nodeImage())
	if c.Object.Spec.ImagePullPolicy != "" {
		image.WithPullPolicy(c.Object.Spec.ImagePullPolicy)
	}
	spec.WithVolumes(corev1ac.Volume().WithName(bundleVolume).WithImage(image))
}

// slurmdContainer is the container of slurmd before what all nodes have in common.
func slurmdContainer(c Cluster, set v1alpha1.NodeSet, args []string) *corev1ac.ContainerApplyConfiguration {
	if set.Image == "" {
		return container(c, c.nodeImage(), contract.ContainerSlurmd, args...)
	}
	ac := container(c, set.Image, contract.ContainerSlurmd, append(args, "--bundled")...)
	ac.Command = []string{contract.BundlePrograms + "/tini", "--", shimOf(set)}
	ac.WithVolumeMounts(mount(bundleVolume, contract.BundleDir).WithSubPath(contract.BundleDir[1:]).WithReadOnly(true))
	for _, a := range accountFiles {
		ac.WithVolumeMounts(mount(accountsVolume, a.file).WithSubPath(path.Base(a.file)).WithReadOnly(true))
	}
	return ac
}

// shimOf is where slurmd-shim is in a set's pods.
func shimOf(set v1alpha1.NodeSet) string {
	if set.Image == "" {
		return shimProgram
	}
	return contract.BundlePrograms + "/slurmd-shim"
}

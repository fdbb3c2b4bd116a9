package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// shim is the command of every container. tini is process 1, because each step of a job leaves processes to
// that, and slurmd would let them stay as zombies.
var shim = []string{"/usr/bin/tini", "--", shimProgram}

const shimProgram = "/usr/local/bin/slurmd-shim"

// podSpec is what the controller pod and slurmd pods have in common. It fits Pod Security "restricted".
func podSpec(c Cluster, t v1alpha1.PodTemplate) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		// The variables of every Service of the namespace would reach jobs, and slow shells down.
		WithEnableServiceLinks(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(contract.UserID).
			WithRunAsGroup(contract.GroupID).
			WithFSGroup(contract.VolumeGroupID).
			WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithSubdomain(c.NodesServiceName()).
		WithVolumes(memoryVolume("run"))
	if len(t.NodeSelector) > 0 {
		spec.WithNodeSelector(t.NodeSelector)
	}
	for _, toleration := range t.Tolerations {
		spec.WithTolerations(as[corev1ac.TolerationApplyConfiguration](toleration))
	}
	if t.Affinity != nil {
		spec.WithAffinity(as[corev1ac.AffinityApplyConfiguration](t.Affinity))
	}
	withUserVolumes(spec, c.Object.Spec.Volumes)
	return spec
}

// ownAuth tells whether Slurm's daemons know each other without munged.
func (c Cluster) ownAuth() bool { return c.Object.Spec.Auth.Type == v1alpha1.AuthSlurm }

// sackKey is how the shim is told the key of auth/slurm.
func sackKey(c Cluster) []string {
	if !c.ownAuth() {
		return nil
	}
	return []string{"--sack-key=" + contract.KeyDir + "/" + contract.KeySlurm}
}

// keysVolume holds the named keys of the cluster's Secret, or all.
func keysVolume(c Cluster, keys ...string) *corev1ac.VolumeApplyConfiguration {
	source := corev1ac.SecretVolumeSource().WithSecretName(c.SecretName()).WithDefaultMode(0o440)
	for _, key := range keys {
		source.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	return corev1ac.Volume().WithName("keys").WithSecret(source)
}

// container is a container of a Slurm image that runs the shim with the given arguments.
func container(c Cluster, image, name string, args ...string) *corev1ac.ContainerApplyConfiguration {
	ac := corev1ac.Container().
		WithName(name).
		WithImage(image).
		WithCommand(shim...).
		WithArgs(args...).
		// The last words of a daemon become the cluster's condition.
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	if c.Object.Spec.ImagePullPolicy != "" {
		ac.WithImagePullPolicy(c.Object.Spec.ImagePullPolicy)
	}
	return ac
}

// mainMounts are what a container that runs a Slurm daemon mounts.
func mainMounts(c Cluster) []*corev1ac.VolumeMountApplyConfiguration {
	list := []*corev1ac.VolumeMountApplyConfiguration{mount("run", contract.RunDir)}
	if !mounted(c.Object.Spec.Volumes, tmpDir) {
		list = append(list, mount("tmp", tmpDir))
	}
	for _, v := range c.Object.Spec.Volumes {
		m := mount("user-"+v.Name, v.MountPath).WithReadOnly(v.ReadOnly)
		if v.SubPath != "" {
			m.WithSubPath(v.SubPath)
		}
		list = append(list, m)
	}
	if !mounted(c.Object.Spec.Volumes, contract.HomeDir) {
		list = append(list, mount("home", contract.HomeDir))
	}
	return list
}

// tmpDir is where programs put what they need for a while.
const tmpDir = "/tmp"

func mounted(volumes []v1alpha1.SharedVolume, path string) bool {
	return slices.ContainsFunc(volumes, func(v v1alpha1.SharedVolume) bool { return v.MountPath == path })
}

func mount(volume, path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(volume).WithMountPath(path)
}

func env(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

func userEnv(t v1alpha1.PodTemplate) []*corev1ac.EnvVarApplyConfiguration {
	list := make([]*corev1ac.EnvVarApplyConfiguration, 0, len(t.Env)+1)
	if !slices.ContainsFunc(t.Env, func(e v1alpha1.EnvVar) bool { return e.Name == "USER" }) {
		list = append(list, env("USER", contract.UserName)) // a login would set it, and jobs take it along
	}
	for _, e := range t.Env {
		list = append(list, env(e.Name, e.Value))
	}
	return list
}

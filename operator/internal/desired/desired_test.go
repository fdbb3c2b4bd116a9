package desired

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func small() Cluster {
	return Cluster{
		DefaultImage: "example.org/slurm:1", ControllerIP: "10.96.0.7", OperatorNamespace: "slurmcluster-system",
		Object: &v1alpha1.SlurmCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "team", UID: "0-1-2"},
			Spec: v1alpha1.SlurmClusterSpec{NodeSets: []v1alpha1.NodeSet{{
				Name:      "cpu",
				Resources: v1alpha1.NodeResources{CPU: resource.MustParse("1"), Memory: resource.MustParse("512Mi")},
			}}},
		},
	}
}

func full() Cluster {
	c := small()
	s := &c.Object.Spec
	s.Image, s.ImagePullPolicy = "example.org/mine:2", corev1.PullAlways
	template := v1alpha1.PodTemplate{
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"},
		NodeSelector: map[string]string{"zone": "x"},
		Tolerations:  []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](5)}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}}}},
		Env: []v1alpha1.EnvVar{{Name: "A", Value: "1"}},
	}
	s.NodeSets[0].Template = template
	s.NodeSets[0].Replicas = ptr.To[int32](3)
	s.NodeSets[0].Features = []v1alpha1.Feature{"avx", "cpu"}
	s.NodeSets[0].RuntimeClassName = "nvidia"
	s.NodeSets[0].SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("a/b.json")}
	s.NodeSets[0].Resources.Devices = []v1alpha1.Device{
		{Resource: "nvidia.com/gpu", Count: 2}, {Resource: "amd.com/gpu", Count: 1},
		{Resource: "xilinx.com/fpga-U250.x", Count: 1, Files: []v1alpha1.DeviceFile{"/dev/xclmgmt*", "/dev/xfpga/*"}},
	}
	s.NodeSets[0].Resources.Requests = v1alpha1.ResourceRequests{CPU: ptr.To(resource.MustParse("100m")), Memory: ptr.To(resource.MustParse("64Mi"))}
	s.Controller = v1alpha1.ControllerSpec{
		Storage:   &v1alpha1.ControllerStorage{Size: resource.MustParse("1Gi"), StorageClassName: ptr.To("fast"), Keep: true},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}},
		Template:  template,
	}
	s.Volumes = []v1alpha1.SharedVolume{
		{Name: "home", MountPath: contract.HomeDir, SubPath: "me", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "home"}},
		{Name: "data", MountPath: "/data", ReadOnly: true, ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "data"}, Items: []corev1.KeyToPath{{Key: "a", Path: "b"}}}},
		{Name: "tools", MountPath: "/tools", Image: &v1alpha1.ImageVolume{Reference: "example.org/tools:1", PullPolicy: corev1.PullAlways}},
		{Name: "token", MountPath: "/token", Secret: &corev1.SecretVolumeSource{SecretName: "token", DefaultMode: ptr.To[int32](0o400)}},
	}
	s.Partitions = []v1alpha1.Partition{{Name: "day", MaxNodes: ptr.To[int32](2)}, {Name: "night", NodeSets: []v1alpha1.NodeSetName{"cpu"}, State: "DOWN"}}
	s.Config = map[string]v1alpha1.ConfigValue{"MaxArraySize": "2000"}
	s.Network = v1alpha1.NetworkSpec{
		From:   []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "portal"}}}},
		Egress: v1alpha1.NetworkEgressRestricted,
		To:     []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24", Except: []string{"192.0.2.8/29"}}}},
	}
	return c
}

func TestObjects(t *testing.T) {
	keys := map[string][]byte{contract.KeyMunge: []byte("m"), contract.KeyJWT: []byte("j")}
	sack := small()
	sack.Object.Spec.Auth.Type = v1alpha1.AuthSlurm
	for name, c := range map[string]Cluster{"small": small(), "full": full(), "auth-slurm": sack} {
		files, err := ConfigFiles(c)
		require.NoError(t, err)
		for kind, object := range map[string]any{
			"secret": Secret(c, keys), "configmap": ConfigMap(c, files), "controller": ControllerPod(c),
			"controller-service": ControllerService(c), "nodes-service": NodesService(c), "version-pod": VersionPod(c),
			"network-policy": NetworkPolicy(c), "slurmd-pod": SlurmdPod(c, c.Object.Spec.NodeSets[0], 2),
		} {
			t.Run(name+"/"+kind, func(t *testing.T) { golden(t, object, name, kind+".yaml") })
		}
	}
}

// TestOwnImage: Slurm's programs come from the Slurm image, as a volume or by a copy.
func TestOwnImage(t *testing.T) {
	for name, volumes := range map[string]bool{"mounted": true, "copied": false} {
		t.Run(name, func(t *testing.T) {
			c := small()
			c.ImageVolumes = volumes
			set := &c.Object.Spec.NodeSets[0]
			set.Image = "docker.io/library/python:3-slim"
			golden(t, SlurmdPod(c, *set, 0), "own-image", name+".yaml")
		})
	}
}

func golden(t *testing.T, object any, path ...string) {
	t.Helper()
	have, err := yaml.Marshal(object)
	require.NoError(t, err)
	file := filepath.Join(append([]string{"testdata"}, path...)...)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, have, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have))
}

// Two clusters never share a key, and no key is guessable from another.
func TestNewKeys(t *testing.T) {
	a, b := NewKeys(v1alpha1.AuthMunge), NewKeys(v1alpha1.AuthMunge)
	assert.Len(t, a[contract.KeyMunge], mungeKeyBytes)
	assert.Len(t, a[contract.KeyJWT], hs256KeyBytes)
	assert.Len(t, a, 2)
	assert.NotEqual(t, a, b)
	sack := NewKeys(v1alpha1.AuthSlurm)
	assert.Len(t, sack[contract.KeySlurm], hs256KeyBytes)
	assert.NotEqual(t, sack[contract.KeySlurm], sack[contract.KeyJWT])
	assert.Len(t, sack, 2)
}

func TestTemplateHash(t *testing.T) {
	hash := func(c Cluster) string { return TemplateHash(c, c.Object.Spec.NodeSets[0]) }
	same, more, image := small(), small(), small()
	more.Object.Spec.NodeSets[0].Replicas = ptr.To[int32](9)
	image.Object.Spec.Image = "example.org/other:1"
	assert.Equal(t, hash(small()), hash(same))
	assert.Equal(t, hash(small()), hash(more), "a change of replicas changes no node")
	assert.NotEqual(t, hash(small()), hash(image))
}

func TestIsolated(t *testing.T) {
	c := small()
	require.True(t, c.Isolated())
	c.Object.Spec.Network.Isolation = v1alpha1.NetworkIsolatedNone
	require.False(t, c.Isolated())
	c = small()
	c.OperatorNamespace = ""
	require.False(t, c.Isolated(), "a policy would lock out an operator that runs elsewhere")
}

func TestHome(t *testing.T) {
	c := small()
	require.Same(t, c.Object, WithHome(c.Object))
	require.Empty(t, c.HomeClaimName())

	c.Object.Spec.Home = &v1alpha1.HomeSpec{ClaimName: "mine"}
	require.Equal(t, "mine", WithHome(c.Object).Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	require.Empty(t, c.Object.Spec.Volumes)

	c.Object.Spec.Home = &v1alpha1.HomeSpec{Size: ptr.To(resource.MustParse("1Gi")), StorageClassName: ptr.To("fast")}
	require.Equal(t, "demo-home", WithHome(c.Object).Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	claim := HomeClaim(c)
	require.Equal(t, "demo-home", claim.Name)
	require.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, claim.Spec.AccessModes)
	require.True(t, c.OwnedBy(claim))
	c.Object.Spec.Home.Keep = true
	require.Empty(t, HomeClaim(c).OwnerReferences)
}

func TestConfigFilesRefuse(t *testing.T) {
	c := small()
	c.Object.Spec.Config = map[string]v1alpha1.ConfigValue{"SlurmUser": "root"}
	_, err := ConfigFiles(c)
	require.ErrorContains(t, err, "set by the operator")
}

func TestMaxNodes(t *testing.T) {
	for wanted, want := range map[int32]int{0: 1024, 511: 1024, 512: 2048, 5000: 16384} {
		assert.Equal(t, want, maxNodes([]v1alpha1.NodeSet{{Replicas: ptr.To(wanted)}}), wanted)
	}
}

func TestOwnedBy(t *testing.T) {
	c := small()
	mine := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "0-1-2", Controller: ptr.To(true)}}}}
	assert.True(t, c.OwnedBy(mine))
	assert.False(t, c.OwnedBy(&corev1.Pod{}))
}

func TestGresName(t *testing.T) {
	for resource, want := range map[string]string{
		"nvidia.com/gpu": "gpu", "nvidia.com/gpu.shared": "gpu", "nvidia.com/mig-1g.5gb": "gpu", "amd.com/gpu": "gpu",
		"gpu.intel.com/i915": "gpu", "habana.ai/gaudi": "gpu", "example.com/gpu-a": "gpu",
		"xilinx.com/fpga-U250": "fpga_u250", "rdma/hca_shared_devices_a": "hca_shared_devices_a", "example.com/0x": "device_0x",
		"example.com/" + strings.Repeat("a", 63): strings.Repeat("a", 32),
	} {
		assert.Equal(t, want, GresName(v1alpha1.Device{Resource: resource}), resource)
	}
	assert.Equal(t, "mine", GresName(v1alpha1.Device{Resource: "nvidia.com/gpu", Gres: "mine"}))
}

// TestGresTypes: what pods that are there offer is known to Slurm until they are gone.
func TestGresTypes(t *testing.T) {
	c := small()
	files, err := ConfigFiles(c)
	require.NoError(t, err)
	require.NotContains(t, files, contract.FileGresConf)
	require.NotContains(t, files[contract.FileSlurmConf], "GresTypes")
	c = full()
	c.GresInUse = []string{"gpu", "old"}
	files, err = ConfigFiles(c)
	require.NoError(t, err)
	require.Contains(t, files, contract.FileGresConf)
	require.Contains(t, files[contract.FileSlurmConf], "\nGresTypes=fpga_u250_x,gpu,old\n")
}

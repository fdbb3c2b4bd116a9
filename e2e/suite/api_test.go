//go:build e2e

package suite

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

type spec = v1alpha1.SlurmClusterSpec

// wrongNames are refused with these words.
var wrongNames = map[string]string{
	"Demo":                  "lower case",
	"de.mo":                 "only lower-case letters, digits and '-'",
	"1demo":                 "starts with a lower-case letter",
	"demo-":                 "alphanumeric character",
	strings.Repeat("a", 41): "at most 40 characters",
}

func TestWrongNames(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	for name, words := range wrongNames {
		refused(t, e.Kube.Create(e.Ctx, e.Object(name), client.DryRunAll), words)
	}
}

// wrongSpecs are refused with the words that follow them.
var wrongSpecs = map[string]struct {
	change harness.Change
	words  string
}{
	"two of one name":   {sets("cpu", "cpu"), "Duplicate value"},
	"set in upper case": {sets("CPU"), "a node set's name starts with a lower-case letter"},
	"set like a node":   {sets("cpu-0"), "does not end in '-' and a number"},
	"set controller":    {sets("controller"), "are not names of node sets; choose another"},
	"set all":           {sets("all"), "are not names of node sets; choose another"},
	"set default":       {sets("default"), "are not names of node sets; choose another"},
	"long set":          {sets("averyverylongname"), "may not be more than 16 bytes"},
	"cpu 100m":          {cpu("100m"), "cpu is at least 1"},
	"cpu 0":             {cpu("0"), "cpu is at least 1"},
	"negative cpu":      {cpu("-1"), "cpu is at least 1"},
	"memory 0":          {memory("0"), "memory is at least 128Mi"},
	"memory 64Mi":       {memory("64Mi"), "memory is at least 128Mi"},
	"negative memory":   {memory("-1Gi"), "memory is at least 128Mi"},
	"negative replicas": {nodes(-1), "greater than or equal to 0"},
	"many replicas":     {nodes(5001), "less than or equal to 5000"},
	"scaled and not":    {func(s *spec) { s.NodeSets[0].Autoscale = &v1alpha1.Autoscale{Max: 1} }, "either replicas or autoscale"},
	"scaled, min > max": {set(func(n *v1alpha1.NodeSet) { n.Replicas, n.Autoscale = nil, &v1alpha1.Autoscale{Min: 2, Max: 1} }), "autoscale.min is not above autoscale.max"},
	"scaled to none":    {set(func(n *v1alpha1.NodeSet) { n.Replicas, n.Autoscale = nil, &v1alpha1.Autoscale{} }), "autoscale.max"},
	"scaled and bound": {set(func(n *v1alpha1.NodeSet) {
		n.Replicas, n.Autoscale, n.TaskBinding = nil, &v1alpha1.Autoscale{Max: 1}, v1alpha1.TaskBindingCores
		n.Resources.Requests = v1alpha1.ResourceRequests{}
	}), "autoscale needs taskBinding: None"},
	"seccomp, no file": {set(func(n *v1alpha1.NodeSet) {
		n.SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost}
	}),
		"localhostProfile is for type: Localhost"},
	"seccomp, a file": {set(func(n *v1alpha1.NodeSet) {
		n.SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined, LocalhostProfile: ptr.To("a")}
	}), "localhostProfile is for type: Localhost"},
	"seccomp, elsewhere": {set(func(n *v1alpha1.NodeSet) {
		n.SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("/etc/a")}
	}), "localhostProfile is a relative path"},
	"volume of two": {func(s *spec) {
		s.Volumes = []v1alpha1.SharedVolume{{Name: "v", MountPath: "/v", Image: &v1alpha1.ImageVolume{Reference: "a"}, Secret: &corev1.SecretVolumeSource{SecretName: "a"}}}
	}, "exactly one of persistentVolumeClaim, configMap, secret and image"},
	"power saving":     {config("SuspendTime", "60"), "that the operator sets itself; remove it"},
	"nobody out":       {set(func(n *v1alpha1.NodeSet) { n.MaxUnavailable = ptr.To(intstr.FromInt32(0)) }), "maxUnavailable is a number of nodes, at least 1"},
	"many out":         {set(func(n *v1alpha1.NodeSet) { n.MaxUnavailable = ptr.To(intstr.FromString("many")) }), "maxUnavailable is a number of nodes, at least 1"},
	"no grace":         {set(func(n *v1alpha1.NodeSet) { n.TerminationGracePeriodSeconds = ptr.To[int64](0) }), "greater than or equal to 1"},
	"negative time":    {set(func(n *v1alpha1.NodeSet) { n.DrainTimeout = &metav1.Duration{Duration: -1} }), "drainTimeout"},
	"priority class":   {set(func(n *v1alpha1.NodeSet) { n.PriorityClassName = "Low" }), "priorityClassName"},
	"feature with ,":   {func(s *spec) { s.NodeSets[0].Features = []v1alpha1.Feature{"a,b"} }, "features[0]"},
	"newline in value": {config("SchedulerParameters", "a\nNodeName=evil"), "one line of text"},
	"# in value":       {config("SchedulerParameters", "a#b"), "one line of text"},
	"empty value":      {config("SchedulerParameters", ""), "config.SchedulerParameters"},
	"key with newline": {config("A\nNodeName", "x"), "letters and digits only"},
	"key with =":       {config("A=b", "x"), "letters and digits only"},
	"owned key":        {config("SlurmctldHost", "evil"), "that the operator sets itself; remove it"},
	"owned, lower":     {config("slurmctldhost", "evil"), "that the operator sets itself; remove it"},
	"owned, mixed":     {config("sLuRmUsEr", "root"), "that the operator sets itself; remove it"},
	"AuthType":         {config("AUTHTYPE", "auth/none"), "that the operator sets itself; remove it"},
	"Include":          {config("include", "/etc/passwd"), "that the operator sets itself; remove it"},
	"MultiUser":        {func(s *spec) { s.Tenancy = "MultiUser" }, `supported values: "SingleUser"`},
	"unknown auth":     {func(s *spec) { s.Auth.Type = "None" }, `supported values: "Munge", "Slurm"`},
	"auth/slurm, open": {func(s *spec) {
		s.Auth.Type, s.Network.Isolation = v1alpha1.AuthSlurm, v1alpha1.NetworkIsolatedNone
	}, "spec.auth.type: Slurm needs spec.network.isolation: Isolated"},
	"unknown set":       {partitions(v1alpha1.Partition{Name: "p", NodeSets: []v1alpha1.NodeSetName{"gpu"}}), "names a node set that does not exist"},
	"two defaults":      {partitions(v1alpha1.Partition{Name: "p", Default: true}, v1alpha1.Partition{Name: "q", Default: true}), "only one partition can be the default"},
	"two of one":        {partitions(v1alpha1.Partition{Name: "p"}, v1alpha1.Partition{Name: "p"}), "Duplicate value"},
	"partition DEFAULT": {partitions(v1alpha1.Partition{Name: "Default"}), "DEFAULT is taken by Slurm"},
	"partition name":    {partitions(v1alpha1.Partition{Name: "p q"}), "a partition's name starts with a letter"},
	"time in words":     {partitions(v1alpha1.Partition{Name: "p", MaxTime: "1h"}), "a time is minutes"},
	"two sources":       {volume("/data", true, true), "exactly one of persistentVolumeClaim, configMap, secret and image"},
	"no source":         {volume("/data", false, false), "exactly one of persistentVolumeClaim, configMap, secret and image"},
	"mount in /etc":     {volume("/etc/slurm", true, false), "where the system or Slurm keeps its own files"},
	"mount on /run":     {volume("/run", true, false), "where the system or Slurm keeps its own files"},
	"mount with ..":     {volume("/data/../etc", true, false), "without ':' and '..'"},
	"relative mount":    {volume("data", true, false), "mountPath is an absolute path"},
	"two on one path": {func(s *spec) {
		volume("/data", true, false)(s)
		again := s.Volumes[0]
		again.Name = "w"
		s.Volumes = append(s.Volumes, again)
	}, "two volumes have the same mountPath"},
	"image with space": {useImage("a b"), "spec.image"},
	"pull policy":      {func(s *spec) { s.ImagePullPolicy = "Sometimes" }, `supported values: "Always"`},
	"our label":        {func(s *spec) { s.NodeSets[0].Template.Labels = map[string]string{"slurmcluster.dev/node": "x"} }, "labels under slurmcluster.dev/ are the operator's"},
	"our variable":     {env("SLURMCLUSTER_CONTROLLER"), "names that start with SLURMCLUSTER_ are the operator's"},
	"negative storage": {storage("-1Gi", false), "size is a quantity above zero"},
}

func TestWrongSpecs(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	for name, c := range wrongSpecs {
		t.Run(name, func(t *testing.T) {
			refused(t, e.Kube.Create(e.Ctx, e.Object("demo", c.change), client.DryRunAll), c.words)
		})
	}
}

// refused says that the API server refused an object as invalid, with these words.
func refused(t *testing.T, err error, words string) {
	t.Helper()
	require.Error(t, err)
	require.True(t, apierrors.IsInvalid(err), err.Error())
	require.ErrorContains(t, err, words)
}

// smallest is the smallest useful cluster, as a user writes it.
const smallest = `
apiVersion: slurmcluster.dev/v1alpha1
kind: SlurmCluster
metadata: {name: demo}
spec:
  controller: {storage: {}}
  nodeSets:
  - {name: cpu, resources: {cpu: 1, memory: 1Gi}}
`

func TestDefaults(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	text, err := e.TryKubectl(strings.NewReader(smallest), "create", "--dry-run=server", "--output=json", "--filename=-")
	require.NoError(t, err)
	o := &v1alpha1.SlurmCluster{}
	require.NoError(t, json.Unmarshal([]byte(text), o))
	require.Equal(t, v1alpha1.TenancySingleUser, o.Spec.Tenancy)
	require.Equal(t, v1alpha1.AuthMunge, o.Spec.Auth.Type)
	require.Nil(t, o.Spec.NodeSets[0].Replicas, "which is one: a default would stand beside autoscale")
	require.EqualValues(t, 1, o.Spec.NodeSets[0].MaxUnavailable.IntValue())
	require.EqualValues(t, 30, *o.Spec.NodeSets[0].TerminationGracePeriodSeconds)
	require.Equal(t, "1Gi", o.Spec.Controller.Storage.Size.String())
}

// TestImmutable changes what cannot change. The namespace has no room for pods: nothing has to run.
func TestImmutable(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	noPods := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
	noPods.Name, noPods.Namespace = "no-pods", e.Namespace
	require.NoError(t, e.Kube.Create(e.Ctx, noPods))
	kept, plain := e.Create("kept", storage("1Gi", false)), e.Create("plain")
	for name, c := range map[string]struct {
		cluster *harness.Cluster
		change  harness.Change
		words   string
	}{
		"more storage":   {kept, storage("2Gi", false), "spec.controller.storage cannot change; create a new cluster"},
		"keep":           {kept, storage("1Gi", true), "spec.controller.storage cannot change; create a new cluster"},
		"storage gone":   {kept, func(s *spec) { s.Controller.Storage = nil }, "spec.controller.storage cannot be added or removed later"},
		"storage, later": {plain, storage("1Gi", false), "spec.controller.storage cannot be added or removed later"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.cluster.Get()
			old := o.DeepCopy()
			c.change(&o.Spec)
			refused(t, e.Patch(e.Ctx, o, client.MergeFrom(old), client.DryRunAll), c.words)
		})
	}
}

func sets(names ...string) harness.Change {
	return func(s *spec) {
		s.NodeSets = nil
		for _, n := range names {
			s.NodeSets = append(s.NodeSets, harness.NodeSet(n, 1))
		}
	}
}

func cpu(q string) harness.Change {
	return func(s *spec) { s.NodeSets[0].Resources.CPU = resource.MustParse(q) }
}

func memory(q string) harness.Change {
	return func(s *spec) { s.NodeSets[0].Resources.Memory = resource.MustParse(q) }
}

func partitions(list ...v1alpha1.Partition) harness.Change {
	return func(s *spec) { s.Partitions = list }
}

func env(name string) harness.Change {
	return func(s *spec) { s.NodeSets[0].Template.Env = []v1alpha1.EnvVar{{Name: name, Value: "x"}} }
}

func storage(size string, keep bool) harness.Change {
	return func(s *spec) {
		s.Controller.Storage = &v1alpha1.ControllerStorage{Size: resource.MustParse(size), Keep: keep}
	}
}

func volume(path string, configMap, claim bool) harness.Change {
	return func(s *spec) {
		v := v1alpha1.SharedVolume{Name: "v", MountPath: path}
		if configMap {
			v.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "files"}}
		}
		if claim {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "files"}
		}
		s.Volumes = []v1alpha1.SharedVolume{v}
	}
}

package class

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

func hours(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }

func quantity(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }

func set(name string, replicas int32, cpu, memory string) v1alpha1.NodeSet {
	return v1alpha1.NodeSet{Name: name, Replicas: &replicas, Resources: v1alpha1.NodeResources{CPU: *quantity(cpu), Memory: *quantity(memory)}}
}

func TestOf(t *testing.T) {
	class := func(name string, isDefault bool, age time.Duration) v1alpha1.SlurmClusterClass {
		return v1alpha1.SlurmClusterClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1_000_000, 0).Add(-age))},
			Spec:       v1alpha1.SlurmClusterClassSpec{Default: isDefault},
		}
	}
	all := []v1alpha1.SlurmClusterClass{class("old", true, 2*time.Hour), class("new", true, time.Hour), class("twin", true, time.Hour), class("other", false, 0)}
	for name, test := range map[string]struct {
		cluster v1alpha1.SlurmCluster
		exists  bool
		want    string
		none    bool
	}{
		"named":                    {v1alpha1.SlurmCluster{Spec: v1alpha1.SlurmClusterSpec{ClassName: "other"}}, false, "other", false},
		"named, not there":         {v1alpha1.SlurmCluster{Spec: v1alpha1.SlurmClusterSpec{ClassName: "x"}}, false, "x", true},
		"the default":              {v1alpha1.SlurmCluster{}, false, "new", false},
		"older than the default":   {v1alpha1.SlurmCluster{}, true, "", true},
		"granted by another":       {v1alpha1.SlurmCluster{Status: v1alpha1.SlurmClusterStatus{Granted: &v1alpha1.Granted{ClassName: "old"}}}, true, "old", false},
		"granted without a class":  {v1alpha1.SlurmCluster{Status: v1alpha1.SlurmClusterStatus{Granted: &v1alpha1.Granted{}}}, true, "", true},
		"refused by the default":   {v1alpha1.SlurmCluster{Status: v1alpha1.SlurmClusterStatus{ObservedGeneration: 1}}, false, "new", false},
		"named, granted otherwise": {v1alpha1.SlurmCluster{Spec: v1alpha1.SlurmClusterSpec{ClassName: "new"}, Status: v1alpha1.SlurmClusterStatus{Granted: &v1alpha1.Granted{ClassName: "old"}}}, true, "new", false},
	} {
		t.Run(name, func(t *testing.T) {
			have, class := Of(&test.cluster, all, test.exists)
			require.Equal(t, test.want, have)
			require.Equal(t, test.none, class == nil)
		})
	}
}

func TestComplete(t *testing.T) {
	class := &v1alpha1.SlurmClusterClass{Spec: v1alpha1.SlurmClusterClassSpec{
		Defaults: v1alpha1.ClassDefaults{
			Image: "slurm:1", NodeSets: []v1alpha1.NodeSet{set("cpu", 2, "1", "1Gi")}, RuntimeClassName: "gvisor", PriorityClassName: "low",
			Volumes:      []v1alpha1.SharedVolume{{Name: "data", MountPath: "/data"}, {Name: "home", MountPath: "/home/user"}},
			NodeSelector: map[string]string{"pool": "batch", "zone": "a"},
			Tolerations:  []corev1.Toleration{{Key: "batch"}, {Key: "mine"}},
			Config:       map[string]v1alpha1.ConfigValue{"MaxArraySize": "100", "KillWait": "5"},
			Lifecycle:    v1alpha1.LifecycleSpec{TTL: hours(8)},
		},
		Limits: v1alpha1.ClassLimits{TTL: hours(24), IdleTimeout: hours(1)},
	}}
	before := class.DeepCopy()

	empty := v1alpha1.SlurmClusterSpec{}
	Complete(&empty, class)
	require.Equal(t, "slurm:1", empty.Image)
	require.Equal(t, "cpu", empty.NodeSets[0].Name)
	require.Equal(t, "gvisor", empty.NodeSets[0].RuntimeClassName)
	require.Equal(t, map[string]string{"pool": "batch", "zone": "a"}, empty.NodeSets[0].Template.NodeSelector)
	require.Equal(t, map[string]string{"pool": "batch", "zone": "a"}, empty.Controller.Template.NodeSelector)
	require.Len(t, empty.Volumes, 2)
	require.Equal(t, v1alpha1.LifecycleSpec{TTL: hours(8), IdleTimeout: hours(1)}, empty.Lifecycle, "who asks for no end gets the class's")

	own := v1alpha1.SlurmClusterSpec{
		Image: "mine:2", NodeSets: []v1alpha1.NodeSet{set("gpu", 1, "2", "2Gi")},
		Volumes: []v1alpha1.SharedVolume{{Name: "h", MountPath: "/home/user"}}, Config: map[string]v1alpha1.ConfigValue{"KillWait": "9"},
		Lifecycle: v1alpha1.LifecycleSpec{TTL: hours(1), IdleTimeout: hours(2)},
	}
	own.NodeSets[0].RuntimeClassName = "nvidia"
	own.NodeSets[0].Template = v1alpha1.PodTemplate{NodeSelector: map[string]string{"zone": "b"}, Tolerations: []corev1.Toleration{{Key: "mine"}}}
	written := own.DeepCopy()
	completed := own
	Complete(&completed, class)
	require.Equal(t, written, &own, "what was written stays")
	require.Equal(t, before, class)
	require.Equal(t, "mine:2", completed.Image)
	require.Equal(t, "nvidia", completed.NodeSets[0].RuntimeClassName)
	require.Equal(t, "low", completed.NodeSets[0].PriorityClassName)
	require.Equal(t, map[string]string{"pool": "batch", "zone": "b"}, completed.NodeSets[0].Template.NodeSelector)
	require.Equal(t, []corev1.Toleration{{Key: "mine"}, {Key: "batch"}}, completed.NodeSets[0].Template.Tolerations)
	require.Equal(t, []v1alpha1.SharedVolume{{Name: "h", MountPath: "/home/user"}, {Name: "data", MountPath: "/data"}}, completed.Volumes)
	require.Equal(t, map[string]v1alpha1.ConfigValue{"MaxArraySize": "100", "KillWait": "9"}, completed.Config)
	require.Equal(t, v1alpha1.LifecycleSpec{TTL: hours(1), IdleTimeout: hours(2)}, completed.Lifecycle)
}

func TestUse(t *testing.T) {
	scaled := set("burst", 0, "4", "2Gi")
	scaled.Replicas, scaled.Autoscale = nil, &v1alpha1.Autoscale{Min: 1, Max: 3}
	use := Use("c", &v1alpha1.SlurmClusterSpec{
		NodeSets: []v1alpha1.NodeSet{set("cpu", 2, "1500m", "3Gi"), scaled}, Image: "i",
		Config: map[string]v1alpha1.ConfigValue{"B": "1", "A": "2"}, Lifecycle: v1alpha1.LifecycleSpec{TTL: hours(1)},
	})
	require.Equal(t, []string{"5", "15", "12Gi", "4", "3Gi"}, []string{
		resource.NewQuantity(int64(use.Nodes), resource.DecimalSI).String(), use.CPU.String(), use.Memory.String(), use.NodeCPU.String(), use.NodeMemory.String()})
	require.Equal(t, []string{"A", "B"}, use.ConfigKeys)
}

func seccomp(kind corev1.SeccompProfileType, file *string) func(*v1alpha1.SlurmClusterSpec) {
	return func(s *v1alpha1.SlurmClusterSpec) {
		s.NodeSets[0].SeccompProfile = &v1alpha1.SeccompProfile{Type: kind, LocalhostProfile: file}
	}
}

func TestExceeds(t *testing.T) {
	spec := func(change func(*v1alpha1.SlurmClusterSpec)) *v1alpha1.SlurmClusterSpec {
		s := &v1alpha1.SlurmClusterSpec{Image: "mine:1", Tenancy: v1alpha1.TenancySingleUser, NodeSets: []v1alpha1.NodeSet{set("cpu", 4, "2", "2Gi")}}
		if change != nil {
			change(s)
		}
		return s
	}
	for name, test := range map[string]struct {
		limits v1alpha1.ClassLimits
		change func(*v1alpha1.SlurmClusterSpec)
		want   string // empty: allowed
	}{
		"nothing limited": {v1alpha1.ClassLimits{}, nil, ""},
		"nodes":           {v1alpha1.ClassLimits{Nodes: ptr.To[int32](3)}, nil, "may have 3 nodes at most, and has 4"},
		"nodes, just":     {v1alpha1.ClassLimits{Nodes: ptr.To[int32](4)}, nil, ""},
		"no nodes":        {v1alpha1.ClassLimits{Nodes: ptr.To[int32](0)}, nil, "0 nodes at most"},
		"cpu":             {v1alpha1.ClassLimits{CPU: quantity("6")}, nil, "6 CPUs on all nodes together at most, and has 8"},
		"memory":          {v1alpha1.ClassLimits{Memory: quantity("7Gi")}, nil, "7Gi of memory on all nodes together at most, and has 8Gi"},
		"node's cpu":      {v1alpha1.ClassLimits{NodeCPU: quantity("1500m")}, nil, "nodes of 1500m CPUs at most, and has some of 2"},
		"node's memory":   {v1alpha1.ClassLimits{NodeMemory: quantity("1Gi")}, nil, "nodes of 1Gi of memory at most, and has some of 2Gi"},
		"ttl":             {v1alpha1.ClassLimits{TTL: hours(8)}, func(s *v1alpha1.SlurmClusterSpec) { s.Lifecycle.TTL = hours(9) }, "a ttl of 8h at most, and has one of 9h"},
		"idle":            {v1alpha1.ClassLimits{IdleTimeout: hours(1)}, func(s *v1alpha1.SlurmClusterSpec) { s.Lifecycle.IdleTimeout = hours(2) }, "an idleTimeout of 1h at most, and has one of 2h"},
		"image":           {v1alpha1.ClassLimits{Images: []v1alpha1.ImagePattern{"a:1", "b/*"}}, nil, "may have image a:1 or b/*, and has mine:1"},
		"image, by name":  {v1alpha1.ClassLimits{Images: []v1alpha1.ImagePattern{"mine:1"}}, nil, ""},
		"image, by start": {v1alpha1.ClassLimits{Images: []v1alpha1.ImagePattern{"min*"}}, nil, ""},
		"the operator's":  {v1alpha1.ClassLimits{Images: []v1alpha1.ImagePattern{"a:1"}}, func(s *v1alpha1.SlurmClusterSpec) { s.Image = "operator:1" }, ""},
		"volume": {v1alpha1.ClassLimits{Images: []v1alpha1.ImagePattern{"mine:1"}}, func(s *v1alpha1.SlurmClusterSpec) {
			s.Volumes = []v1alpha1.SharedVolume{{Name: "v", MountPath: "/v", Image: &v1alpha1.ImageVolume{Reference: "other:1"}}}
		}, "may have image mine:1, and has other:1"},
		"seccomp": {v1alpha1.ClassLimits{}, seccomp(corev1.SeccompProfileTypeUnconfined, nil), "may have seccompProfile RuntimeDefault, and has Unconfined"},
		"seccomp, another": {v1alpha1.ClassLimits{SeccompProfiles: []string{"Unconfined"}}, seccomp(corev1.SeccompProfileTypeLocalhost, ptr.To("a.json")),
			"may have seccompProfile RuntimeDefault or Unconfined, and has a.json"},
		"seccomp, allowed": {v1alpha1.ClassLimits{SeccompProfiles: []string{"a.json"}}, seccomp(corev1.SeccompProfileTypeLocalhost, ptr.To("a.json")), ""},
		"seccomp, default": {v1alpha1.ClassLimits{}, seccomp(corev1.SeccompProfileTypeRuntimeDefault, nil), ""},
		"no image":         {v1alpha1.ClassLimits{Images: []v1alpha1.ImagePattern{"a:1"}}, func(s *v1alpha1.SlurmClusterSpec) { s.Image = "" }, ""},
		"a key": {v1alpha1.ClassLimits{ConfigKeys: []v1alpha1.ConfigKey{"KillWait"}}, func(s *v1alpha1.SlurmClusterSpec) {
			s.Config = map[string]v1alpha1.ConfigValue{"Prolog": "x", "killwait": "5"}
		}, "only KillWait in spec.config, and has Prolog"},
		"no keys": {v1alpha1.ClassLimits{ConfigKeys: []v1alpha1.ConfigKey{}}, func(s *v1alpha1.SlurmClusterSpec) { s.Config = map[string]v1alpha1.ConfigValue{"KillWait": "5"} }, "only nothing in spec.config"},
		"tenancy": {v1alpha1.ClassLimits{Tenancies: []v1alpha1.Tenancy{"MultiUser"}}, nil, "tenancy MultiUser, and has SingleUser"},
		"network": {v1alpha1.ClassLimits{Isolated: true}, func(s *v1alpha1.SlurmClusterSpec) {
			s.Network.Isolation = v1alpha1.NetworkIsolatedNone
		}, "network.isolation: Isolated"},
		"network, isolated": {v1alpha1.ClassLimits{Isolated: true}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, class := spec(test.change), &v1alpha1.SlurmClusterClass{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: v1alpha1.SlurmClusterClassSpec{Limits: test.limits}}
			use := Use("small", s)
			found := Exceeds(s, use, nil, class, "operator:1")
			if test.want == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0].Message, "a cluster of class small may have ")
			require.Contains(t, found[0].Message, test.want)
			require.True(t, found[0].New)
			again := Exceeds(s, use, use, class, "operator:1")
			require.Len(t, again, 1)
			require.False(t, again[0].New, "what was granted before stays")
		})
	}
}

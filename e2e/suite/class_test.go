//go:build e2e

package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// class makes a SlurmClusterClass of the test's own.
func class(e *harness.Env, spec v1alpha1.SlurmClusterClassSpec) *v1alpha1.SlurmClusterClass {
	c := &v1alpha1.SlurmClusterClass{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace, Labels: map[string]string{harness.LabelTest: ""}}, Spec: spec}
	require.NoError(e, e.Kube.Create(e.Ctx, c))
	e.Cleanup(func() { require.NoError(e, client.IgnoreNotFound(e.Delete(context.Background(), c))) })
	return c
}

func ofClass(c *v1alpha1.SlurmClusterClass) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) { s.ClassName = c.Name }
}

// change changes a class.
func change(e *harness.Env, c *v1alpha1.SlurmClusterClass, how func(*v1alpha1.SlurmClusterClassSpec)) {
	before := c.DeepCopy()
	how(&c.Spec)
	require.NoError(e, e.Patch(e.Ctx, c, client.MergeFrom(before)))
}

// nodeSets leaves the node sets to the class.
func noNodeSets(s *v1alpha1.SlurmClusterSpec) { s.NodeSets = nil }

// TestClass: a class fills in what a cluster leaves out and bounds it; a change of the class takes nothing away.
func TestClass(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	small := class(e, v1alpha1.SlurmClusterClassSpec{
		Defaults: v1alpha1.ClassDefaults{NodeSets: []v1alpha1.NodeSet{harness.NodeSet("small", 1)}, Config: map[string]v1alpha1.ConfigValue{"KillWait": "7"}},
		Limits: v1alpha1.ClassLimits{
			Nodes: ptr.To[int32](2), NodeCPU: ptr.To(resource.MustParse("1")), TTL: &metav1.Duration{Duration: time.Hour},
			Images: []v1alpha1.ImagePattern{"example.org/*"}, ConfigKeys: []v1alpha1.ConfigKey{"MaxArraySize"},
			ClustersPerNamespace: ptr.To[int32](1), Isolated: true, SeccompProfiles: []string{"mine.json"},
		},
	})
	c := e.Create("demo", ofClass(small), noNodeSets)
	c.AwaitReady()
	require.Equal(t, "small-0", c.Run("srun", "hostname"))
	require.Contains(t, c.Run("scontrol", "show", "config"), "KillWait                = 7 sec")
	require.Equal(t, c.Get().CreationTimestamp.Add(time.Hour).Unix(), c.Get().Status.ExpiresAt.Unix(), "it gets the class's ttl")
	require.Equal(t, small.Name, c.Get().Status.Granted.ClassName)

	about := "a cluster of class " + small.Name + " may have "
	for name, wrong := range map[string]struct {
		change harness.Change
		words  string
	}{
		"nodes":        {nodes(3), about + "2 nodes at most, and has 3"},
		"node's cpu":   {func(s *spec) { s.NodeSets[0].Resources.CPU = resource.MustParse("2") }, about + "nodes of 1 CPUs at most"},
		"ttl":          {lifetime(2*time.Hour, 0), about + "a ttl of 1h0m0s at most, and has one of 2h0m0s"},
		"image":        {useImage("docker.io/library/x"), about + "image example.org/*, and has docker.io/library/x"},
		"node's image": {func(s *spec) { s.NodeSets[0].Image = "docker.io/library/x" }, about + "image example.org/* in its node sets, and has another"},
		"volume's image": {func(s *spec) {
			s.Volumes = []v1alpha1.SharedVolume{{Name: "v", MountPath: "/v", Image: &v1alpha1.ImageVolume{Reference: "docker.io/library/x"}}}
		}, about + "image example.org/* in its volumes, and has another"},
		"seccomp": {func(s *spec) {
			s.NodeSets[0].SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("other.json")}
		}, about + "seccompProfile RuntimeDefault or mine.json, and has another"},
		"config":       {config("Prolog", "/bin/true"), about + "only MaxArraySize in spec.config"},
		"network":      {func(s *spec) { s.Network.Isolation = v1alpha1.NetworkIsolatedNone }, about + "network.isolation: Isolated"},
		"scaled nodes": {scaled(0, 5), about + "2 nodes at most, and has 5"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, e.Kube.Create(e.Ctx, e.Object("wrong", ofClass(small), wrong.change), client.DryRunAll), wrong.words)
		})
	}
	require.NoError(t, e.Kube.Create(e.Ctx, e.Object("right", ofClass(small), nodes(2), lifetime(time.Minute, 0), config("MaxArraySize", "7"), func(s *spec) {
		s.NodeSets[0].Image = "example.org/mine"
		s.NodeSets[0].SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("mine.json")}
	}), client.DryRunAll))

	_, err := e.TryKubectl(nil, "slurmcluster", "extend", "demo", "2h")
	require.ErrorContains(t, err, about+"a ttl of 1h0m0s at most, and has one of 3h0m0s")

	second := e.Create("second", ofClass(small), noNodeSets)
	second.AwaitDegraded(v1alpha1.ReasonExceedsClass, "class "+small.Name+" allows 1 of its clusters in a namespace, and "+e.Namespace+" has 1")
	require.Empty(t, podsOf(second, contract.RoleController))

	change(e, small, func(s *v1alpha1.SlurmClusterClassSpec) { s.Limits.Nodes, s.Limits.TTL = ptr.To[int32](0), nil })
	c.Await("its status says what no longer fits", func(o *v1alpha1.SlurmCluster) bool {
		return harness.Is(o, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonExceedsClass) && harness.Ready(o)
	})
	require.Equal(t, "small-0", c.Run("srun", "hostname"))
	c.Update(func(s *spec) { s.NodeSets = []v1alpha1.NodeSet{harness.NodeSet("small", 1)} })
	more := c.Get()
	before := more.DeepCopy()
	nodes(2)(&more.Spec)
	refused(t, e.Patch(e.Ctx, more, client.MergeFrom(before)), about+"0 nodes at most, and has 2")

	require.NoError(t, e.Delete(e.Ctx, small))
	c.AwaitDegraded(v1alpha1.ReasonNoClass, "there is no SlurmClusterClass "+small.Name)
	require.Equal(t, "small-0", c.Run("srun", "hostname"), "what runs goes on")
	c.Update(func(s *spec) { s.ClassName = "" })
	c.AwaitDegraded(v1alpha1.ReasonNoClass)
}

// TestPlaces: the place of a cluster that has gone is given to the next.
func TestPlaces(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	one := class(e, v1alpha1.SlurmClusterClassSpec{
		Defaults: v1alpha1.ClassDefaults{NodeSets: []v1alpha1.NodeSet{harness.NodeSet("small", 1)}},
		Limits:   v1alpha1.ClassLimits{ClustersPerUser: ptr.To[int32](1)},
	})
	me, err := e.Set.AuthenticationV1().SelfSubjectReviews().Create(e.Ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	object := func(name, owner string) *v1alpha1.SlurmCluster {
		o := e.Object(name, ofClass(one), noNodeSets)
		if owner != "" {
			o.Annotations = map[string]string{contract.AnnotationOwner: owner}
		}
		return o
	}
	user := me.Status.UserInfo.Username
	e.Eventually(harness.Patience, "the API server knows the class", func() error {
		if e.Kube.Create(e.Ctx, object("demo", ""), client.DryRunAll) == nil {
			return errors.New("it lets a cluster in that names no owner")
		}
		return nil
	})
	refused(t, e.Kube.Create(e.Ctx, object("demo", "")), "class "+one.Name+" counts clusters by user: annotation slurmcluster.dev/owner has to be "+user)
	refused(t, e.Kube.Create(e.Ctx, object("demo", "somebody")), "annotation slurmcluster.dev/owner names who makes the cluster: "+user+", not somebody")
	require.NoError(t, e.Kube.Create(e.Ctx, object("first", user)))
	first := e.Cluster("first")
	first.AwaitReady()
	changed := first.Get()
	changed.Annotations[contract.AnnotationOwner] = "somebody"
	refused(t, e.Update(e.Ctx, changed), "annotation slurmcluster.dev/owner cannot change")

	require.NoError(t, e.Kube.Create(e.Ctx, object("second", user)))
	second := e.Cluster("second")
	second.AwaitDegraded(v1alpha1.ReasonExceedsClass, "allows a user 1 of its clusters, and "+user+" has 1")
	e.Kubectl("delete", "slurmcluster", "first")
	second.AwaitReady()
	require.Equal(t, "small-0", second.Run("srun", "hostname"))
}

// TestNoNodeSets: without a class, a cluster says itself what nodes it has.
func TestNoNodeSets(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	e.Create("demo", noNodeSets).AwaitDegraded(v1alpha1.ReasonInvalidConfig, "no node sets, and it has no class: add one to spec.nodeSets")
}

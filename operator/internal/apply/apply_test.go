package apply

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var owner = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}}

func want(value string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("demo-config", "ns").WithData(map[string]string{"a": value}).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("Pod").WithName("demo").WithUID("1").WithController(true))
}

// writer counts what it sends to a fake API server that holds the given objects.
func writer(t *testing.T, have ...client.Object) (*Writer, client.Client, *int) {
	t.Helper()
	sent := 0
	c := fake.NewClientBuilder().WithObjects(have...).WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			err := c.Create(ctx, o, opts...)
			if err == nil {
				sent++
			}
			return err
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			sent++
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	return New(c, c), c, &sent
}

func get(t *testing.T, c client.Client) *corev1.ConfigMap {
	t.Helper()
	live := &corev1.ConfigMap{}
	require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "demo-config"}, live))
	return live
}

func TestApplyWritesOnce(t *testing.T) {
	w, c, sent := writer(t)
	live := &corev1.ConfigMap{}
	require.NoError(t, w.Apply(t.Context(), owner, want("1"), live))
	assert.Equal(t, "1", live.Data["a"], "the answer is filled in")
	assert.NotEmpty(t, live.ResourceVersion)

	require.NoError(t, w.Apply(t.Context(), owner, want("1"), get(t, c)))
	assert.Equal(t, 1, *sent, "nothing has changed")

	require.NoError(t, w.Apply(t.Context(), owner, want("2"), get(t, c)))
	assert.Equal(t, 2, *sent, "the wish has changed")

	changed := get(t, c)
	changed.Data["a"] = "somebody else's"
	require.NoError(t, c.Update(t.Context(), changed))
	require.NoError(t, w.Apply(t.Context(), owner, want("2"), get(t, c)))
	assert.Equal(t, "2", get(t, c).Data["a"], "the object has changed")

	w.ForgetCluster(client.ObjectKeyFromObject(owner))
	require.NoError(t, w.Apply(t.Context(), owner, want("2"), get(t, c)))
	assert.Equal(t, 3, *sent, "the object tells what was wanted")
}

// TestRestart: an operator that has just started writes what has changed since the last one, and nothing else.
func TestRestart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   string
		writes int
	}{
		"nothing":               {func(*corev1.ConfigMap) {}, "1", 0},
		"the wish":              {func(*corev1.ConfigMap) {}, "2", 1},
		"the object":            {func(m *corev1.ConfigMap) { m.Data["a"] = "theirs" }, "1", 1},
		"something was added":   {func(m *corev1.ConfigMap) { m.Data["b"] = "theirs" }, "1", 0},
		"something was removed": {func(m *corev1.ConfigMap) { m.Data = nil }, "1", 1},
		"made by an older one":  {func(m *corev1.ConfigMap) { m.Annotations = nil }, "1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, api, sent := writer(t)
			require.NoError(t, w.Apply(t.Context(), owner, want("1"), &corev1.ConfigMap{}))
			changed := get(t, api)
			c.change(changed)
			require.NoError(t, api.Update(t.Context(), changed))
			*sent = 0
			require.NoError(t, New(api, api).Apply(t.Context(), owner, want(c.want), get(t, api)))
			require.Equal(t, c.writes, *sent)
			require.Equal(t, c.want, get(t, api).Data["a"])
		})
	}
}

// TestUntouched: numbers, and what Kubernetes adds to a Service.
func TestUntouched(t *testing.T) {
	w, c, sent := writer(t)
	service := func() *corev1ac.ServiceApplyConfiguration {
		return corev1ac.Service("demo", "ns").WithSpec(corev1ac.ServiceSpec().WithPorts(
			corev1ac.ServicePort().WithPort(6817).WithTargetPort(intstr.FromInt32(6817)), corev1ac.ServicePort().WithPort(6820).WithTargetPort(intstr.FromString("rest")))).
			WithOwnerReferences(&want("").OwnerReferences[0])
	}
	live := &corev1.Service{}
	require.NoError(t, w.Apply(t.Context(), owner, service(), live))
	live.Spec.ClusterIP, live.Spec.Ports[0].Protocol = "10.0.0.1", corev1.ProtocolTCP
	require.NoError(t, c.Update(t.Context(), live))
	require.NoError(t, New(c, c).Apply(t.Context(), owner, service(), live))
	require.Equal(t, 1, *sent)
}

// TestHas: lists are whole, and what is empty may be missing.
func TestHas(t *testing.T) {
	type m = map[string]any
	for name, c := range map[string]struct {
		live, want any
		has        bool
	}{
		"a default":             {m{"port": 1.0, "protocol": "TCP"}, m{"port": 1.0}, true},
		"in a list":             {[]any{m{"port": 1.0, "protocol": "TCP"}}, []any{m{"port": 1.0}}, true},
		"one more in a list":    {[]any{"a", "b"}, []any{"a"}, false},
		"one where none may be": {m{"egress": []any{m{}}}, m{"egress": []any{}}, false},
		"an empty list":         {m{}, m{"egress": []any{}}, true},
		"an empty map":          {m{}, m{"selector": m{}}, true},
		"false":                 {m{}, m{"x": false}, true},
		"another kind":          {m{"x": "1"}, m{"x": m{"y": 1.0}}, false},
		"missing":               {m{}, m{"x": m{"y": 1.0}}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.has, has(c.live, c.want)) })
	}
}

// What is no longer wanted goes, though the object was created and not applied; what others added stays.
func TestNoLongerWanted(t *testing.T) {
	w, c, _ := writer(t)
	both := want("1")
	both.Data["b"] = "2"
	require.NoError(t, w.Apply(t.Context(), owner, both, &corev1.ConfigMap{}))
	theirs := get(t, c)
	theirs.Data["theirs"] = "3"
	require.NoError(t, c.Update(t.Context(), theirs, client.FieldOwner("somebody")))
	require.NoError(t, w.Apply(t.Context(), owner, want("1"), get(t, c)))
	require.Equal(t, map[string]string{"a": "1", "theirs": "3"}, get(t, c).Data)
}

// An object that the caches do not have yet is not written again.
func TestCachesBehind(t *testing.T) {
	w, _, sent := writer(t)
	for range 2 {
		live := &corev1.ConfigMap{}
		require.NoError(t, w.Apply(t.Context(), owner, want("1"), live))
		require.Equal(t, "1", live.Data["a"])
	}
	require.Equal(t, 1, *sent)
}

// A pod is made once, and left as it is.
func TestCreate(t *testing.T) {
	pod := func(uid string) *corev1ac.PodApplyConfiguration {
		return corev1ac.Pod("demo-cpu-0", "ns").WithSpec(corev1ac.PodSpec().WithHostname(uid)).
			WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("Pod").WithName("demo").WithUID(types.UID(uid)).WithController(true))
	}
	w, c, sent := writer(t)
	for range 2 {
		made := &corev1.Pod{}
		require.NoError(t, w.Create(t.Context(), owner, pod("1"), made))
		require.NotEmpty(t, made.ResourceVersion)
	}
	require.Equal(t, 1, *sent)
	live := &corev1.Pod{}
	require.NoError(t, c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "demo-cpu-0"}, live))
	require.Equal(t, "1", live.Spec.Hostname)

	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "2"}}
	var conflict *ConflictError
	require.ErrorAs(t, w.Create(t.Context(), other, pod("2"), &corev1.Pod{}), &conflict)
	require.Equal(t, "Pod ns/demo-cpu-0 exists already and does not belong to this cluster; delete it, or give the cluster another name", conflict.Error())
}

// An object that is somebody else's stays theirs, whether the caches have it or not.
func TestConflict(t *testing.T) {
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-config"}, Data: map[string]string{"a": "theirs"}}
	w, c, sent := writer(t, foreign)
	for _, live := range []*corev1.ConfigMap{{}, get(t, c)} {
		err := w.Apply(t.Context(), owner, want("1"), live)
		var conflict *ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, "ConfigMap ns/demo-config exists already and does not belong to this cluster; delete it, or give the cluster another name", err.Error())
	}
	assert.Zero(t, *sent)
	assert.Equal(t, "theirs", get(t, c).Data["a"])
}

//go:build e2e

package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// TestUnprivileged asks the kernel what each process of a cluster's pods may do.
func TestUnprivileged(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(1))
		pods := &corev1.PodList{}
		require.NoError(e, e.List(e.Ctx, pods, client.InNamespace(e.Namespace)))
		require.Len(e, pods.Items, 2)
		for i := range pods.Items {
			pod := &pods.Items[i]
			unprivileged(e, pod)
			for _, container := range harness.Statuses(pod) {
				where := kube.Container{Namespace: pod.Namespace, Pod: pod.Name, Name: container.Name}
				all, err := e.Exec(e.Ctx, where, nil, "sh", "-c", "cat /proc/[0-9]*/status 2>/dev/null; true")
				require.NoError(e, err)
				for status := range strings.SplitSeq(all, "Name:") {
					if status != "" {
						powerless(e, "Name:"+status)
					}
				}
				_, err = e.Exec(e.Ctx, where, nil, "test", "-e", "/var/run/secrets/kubernetes.io")
				require.Error(e, err, "a token for Kubernetes is in %s", where)
			}
		}
		powerless(e, c.Run("srun", "cat", "/proc/self/status"))
		require.Equal(e, "1000", c.Run("srun", "id", "-u"))
	})
}

// powerless reads a process's status as the kernel tells it.
func powerless(e *harness.Env, status string) {
	e.Helper()
	fields := map[string]string{}
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.Join(strings.Fields(value), " ")
	}
	for id := range strings.FieldsSeq(fields["Uid"] + " " + fields["Gid"]) {
		require.NotEqual(e, "0", id, status)
	}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		require.Equal(e, "0000000000000000", fields[set], "%s: %s", set, status)
	}
	require.Equal(e, "1", fields["NoNewPrivs"], status)
	require.Equal(e, "2", fields["Seccomp"], status)
}

// unprivileged reads what a pod asks for.
func unprivileged(e *harness.Env, pod *corev1.Pod) {
	e.Helper()
	require.NotNil(e, pod.Spec.SecurityContext.SeccompProfile)
	require.Equal(e, corev1.SeccompProfileTypeRuntimeDefault, pod.Spec.SecurityContext.SeccompProfile.Type)
	require.True(e, *pod.Spec.SecurityContext.RunAsNonRoot)
	require.False(e, pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC)
	for _, v := range pod.Spec.Volumes {
		require.Nil(e, v.HostPath, v.Name)
	}
	for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		s := container.SecurityContext
		require.NotNil(e, s, container.Name)
		require.False(e, *s.AllowPrivilegeEscalation, container.Name)
		require.Equal(e, []corev1.Capability{"ALL"}, s.Capabilities.Drop, container.Name)
		require.Empty(e, s.Capabilities.Add, container.Name)
	}
}

// TestOperatorUnprivileged: the operator too; what it may ask of Kubernetes is limited.
func TestOperatorUnprivileged(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	pod := e.Operator()
	unprivileged(e, pod)
	require.NotZero(t, *pod.Spec.SecurityContext.RunAsUser)
	require.True(t, *pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
	namespace := &corev1.Namespace{}
	require.NoError(t, e.Get(e.Ctx, client.ObjectKey{Name: pod.Namespace}, namespace))
	require.Equal(t, "restricted", namespace.Labels["pod-security.kubernetes.io/enforce"])

	account := "system:serviceaccount:" + pod.Namespace + ":" + pod.Spec.ServiceAccountName
	for _, forbidden := range [][]string{
		{"list", "secrets"}, {"delete", "secrets"}, {"create", "pods", "--subresource=exec"}, {"update", "namespaces"},
		{"create", "clusterroles"}, {"delete", "nodes"}, {"impersonate", "users"}, {"create", "serviceaccounts", "--subresource=token"},
	} {
		out, err := e.TryKubectl(nil, append([]string{"auth", "can-i", "--as", account}, forbidden...)...)
		require.Error(t, err, "the operator may %s: %s", strings.Join(forbidden, " "), out)
		require.Equal(t, "no", strings.TrimSpace(out))
	}
}

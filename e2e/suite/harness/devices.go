//go:build e2e

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// IsLocal tells whether the Kubernetes in use is the local one.
func (e *Env) IsLocal() bool {
	local, err := kube.Local(e.Ctx, nil, "localkube", "kubeconfig")
	return err == nil && strings.TrimSpace(local) == os.Getenv("KUBECONFIG")
}

// Devices lets a device plugin offer device files /dev/nvidia<n> until the test ends. It skips the test on a
// Kubernetes that is not the local one, whose machines it cannot reach.
func (e *Env) Devices(resource string, count int64) {
	e.Helper()
	if !e.IsLocal() {
		e.Skip("device plugins are tested on the local Kubernetes only")
	}
	program := filepath.Join(e.TempDir(), "deviceplugin")
	_, err := kube.Local(e.Ctx, nil, "go", "build", "-o", program, "../deviceplugin")
	require.NoError(e, err)
	command := exec.CommandContext(e.Ctx, "localkube", "enter", program, "-resource", resource, "-count", fmt.Sprint(count))
	var said strings.Builder
	command.Stderr = &said
	stdin, err := command.StdinPipe()
	require.NoError(e, err)
	require.NoError(e, command.Start())
	e.Cleanup(func() {
		require.NoError(e, stdin.Close()) // which ends it
		require.NoError(e, command.Wait(), said.String())
	})
	e.Eventually(Patience, "the kubelet offers "+resource, func() error {
		machines, err := e.Set.CoreV1().Nodes().List(e.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		offered := machines.Items[0].Status.Allocatable[corev1.ResourceName(resource)]
		if offered.Value() != count {
			return fmt.Errorf("it offers %s", offered.String())
		}
		return nil
	})
}

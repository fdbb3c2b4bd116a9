package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/images"
)

const systemNamespace = "kube-system"

// apply applies a manifest with the kubectl that we built.
func (c Cluster) apply(ctx context.Context, what string, manifest []byte) error {
	command := exec.CommandContext(ctx, c.Paths.Binary("kubectl"),
		"apply", "--server-side", "--force-conflicts", "--field-manager=localkube", "-f", "-")
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Paths.AdminKubeconfig())
	command.Stdin = bytes.NewReader(manifest)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("applying %s: %w:\n%s", what, err, output)
	}
	return nil
}

func (c Cluster) waitForNode(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, upInterval, upTimeout, true, func(ctx context.Context) (bool, error) {
		ready, _ := c.nodeReady(ctx)
		return ready, nil
	})
	return timeoutHint(err, "the node becoming ready", c.Paths.Log(components.Kubelet))
}

// runTestPod runs a pod of a RuntimeClass, or of none, and removes it.
func (c Cluster) runTestPod(ctx context.Context, runtimeClass string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods(systemNamespace)
	var name string
	err = wait.PollUntilContextTimeout(ctx, upInterval, upTimeout, true, func(ctx context.Context) (bool, error) {
		pod, err := pods.Create(ctx, testPod(runtimeClass), metav1.CreateOptions{})
		if apierrors.IsForbidden(err) { // its service account is not there yet
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("creating a test pod: %w", err)
		}
		name = pod.Name
		return true, nil
	})
	if err != nil {
		return timeoutHint(err, "creating a test pod", c.Paths.Log(components.ControllerManager))
	}
	running := wait.PollUntilContextTimeout(ctx, upInterval, upTimeout, true, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, nil
	})
	err = pods.Delete(ctx, name, *metav1.NewDeleteOptions(0))
	if running != nil {
		return timeoutHint(running, "running a test pod", c.Paths.Log(components.Kubelet))
	}
	if err != nil {
		return fmt.Errorf("removing the test pod: %w", err)
	}
	return nil
}

func testPod(runtimeClass string) *corev1.Pod {
	none := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "localkube-test-"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &none,
			Containers: []corev1.Container{{
				Name: "pause", Image: images.Pause.Reference(), ImagePullPolicy: corev1.PullNever,
			}},
		},
	}
	if runtimeClass != "" {
		pod.Spec.RuntimeClassName = &runtimeClass
	}
	return pod
}

func (c Cluster) waitForDNS(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, upInterval, upTimeout, true, func(ctx context.Context) (bool, error) {
		deployment, err := client.AppsV1().Deployments(systemNamespace).Get(ctx, "coredns", metav1.GetOptions{})
		return err == nil && deployment.Status.AvailableReplicas > 0, nil
	})
	return timeoutHint(err, "DNS becoming ready", "`localkube kubectl -n kube-system describe pods`")
}

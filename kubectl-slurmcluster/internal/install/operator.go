package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/charts"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

// waitForOperator waits until the Deployment runs in its newest version, and says meanwhile what is amiss.
func (c *clients) waitForOperator(ctx context.Context, errOut io.Writer, namespace string, timeout time.Duration, start time.Time) (string, error) {
	line := progress.New(errOut)
	defer line.Clear()
	state := "not seen yet"
	var ready int32
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		deployment, err := c.kube.AppsV1().Deployments(namespace).Get(ctx, charts.Operator, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		ready = deployment.Status.AvailableReplicas
		if rolledOut(deployment) {
			return true, nil
		}
		state = fmt.Sprintf("%d of %d ready", ready, *deployment.Spec.Replicas)
		if trouble := c.trouble(ctx, namespace, deployment); trouble != "" {
			state += "; " + trouble
		}
		line.Update("operator: " + state)
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("after %s: %s; see: kubectl describe pods -n %s", timeout, state, namespace)
	}
	return fmt.Sprintf("%d ready, in %s", ready, progress.Elapsed(start)), err
}

func rolledOut(d *appsv1.Deployment) bool {
	wanted := *d.Spec.Replicas
	return d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas == wanted && d.Status.Replicas == wanted && d.Status.AvailableReplicas == wanted
}

// trouble is what the newest pods or the Deployment complain about. It decorates a message; when it cannot
// be had, the message goes without.
func (c *clients) trouble(ctx context.Context, namespace string, deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return condition.Message
		}
	}
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)})
	if err != nil {
		return ""
	}
	for i := range list.Items {
		if trouble := podTrouble(&list.Items[i]); trouble != "" {
			return trouble
		}
	}
	return ""
}

func podTrouble(pod *corev1.Pod) string {
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil && waiting.Message != "" {
			return waiting.Reason + ": " + waiting.Message
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason + ": " + condition.Message
		}
	}
	return ""
}

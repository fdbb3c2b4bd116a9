//go:build e2e

package harness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// operatorPods are the running pods of the operator.
func (e *Env) operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := e.List(ctx, pods, client.MatchingLabels{"app.kubernetes.io/name": "slurmcluster-operator"})
	if err != nil {
		return nil, fmt.Errorf("listing the operator's pods: %w", err)
	}
	running := pods.Items[:0]
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			running = append(running, pod)
		}
	}
	if len(running) == 0 {
		return nil, errors.New("the operator does not run in this Kubernetes; install it with 'make install'")
	}
	return running, nil
}

// Operator is the operator's pod.
func (e *Env) Operator() *corev1.Pod {
	e.Helper()
	pods, err := e.operatorPods(e.Ctx)
	require.NoError(e, err)
	require.Len(e, pods, 1, "tests of the operator itself want a single one")
	return &pods[0]
}

// Metrics reads the operator's Prometheus metrics: the sum of each by name and labels.
func (e *Env) Metrics() map[string]float64 {
	e.Helper()
	pod := e.Operator()
	text, err := e.Set.CoreV1().RESTClient().Get().
		Resource("pods").Namespace(pod.Namespace).Name(pod.Name + ":8080").SubResource("proxy").Suffix("metrics").
		DoRaw(e.Ctx)
	require.NoError(e, err, "reading the operator's metrics")
	values := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		require.NoError(e, err, line)
		values[line[:cut]] = value
	}
	require.NoError(e, lines.Err())
	return values
}

// Sum adds up the metrics of a name that have all the labels, such as `method="PUT"`.
func Sum(metrics map[string]float64, name string, labels ...string) float64 {
	var sum float64
next:
	for key, value := range metrics {
		if base, _, _ := strings.Cut(key, "{"); base != name {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(key, label) {
				continue next
			}
		}
		sum += value
	}
	return sum
}

// Install repeats the installation of the operator with the settings that it has.
func (e *Env) Install(namespace string) string {
	e.Helper()
	out, err := kube.Local(e.Ctx, nil, "kubectl", "slurmcluster", "install", "--namespace="+namespace)
	require.NoError(e, err)
	return out
}

// OperatorContainer is how the operator was installed, whether it runs at this moment or not.
func (e *Env) OperatorContainer() corev1.Container {
	e.Helper()
	found := &appsv1.DeploymentList{}
	require.NoError(e, e.List(e.Ctx, found, client.MatchingLabels{"app.kubernetes.io/name": "slurmcluster-operator"}))
	require.Len(e, found.Items, 1, "the operator is installed once")
	return found.Items[0].Spec.Template.Spec.Containers[0]
}

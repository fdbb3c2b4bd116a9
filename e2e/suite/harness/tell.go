//go:build e2e

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	tellLimit = 30 * time.Second
	// Lines of logs that explain a failure: of a container, and of the operator before those of other
	// namespaces are left out.
	podLines      = 25
	restdLines    = 3 // it says something about each request
	operatorLines = 5000
	operatorShown = 40
)

// tell writes what explains a failure: the clusters' status, pods, events and recent logs. What cannot be
// read is left out: that a test failed is known already.
func (e *Env) tell() {
	ctx, cancel := context.WithTimeout(context.Background(), tellLimit)
	defer cancel()
	var b strings.Builder
	fmt.Fprintf(&b, "---- namespace %s\n", e.Namespace)
	e.tellClusters(ctx, &b)
	e.tellEvents(ctx, &b)
	e.tellPods(ctx, &b)
	e.tellOperator(ctx, &b)
	e.Log(b.String())
}

func (e *Env) tellClusters(ctx context.Context, b *strings.Builder) {
	clusters := &v1alpha1.SlurmClusterList{}
	if err := e.List(ctx, clusters, client.InNamespace(e.Namespace)); err != nil {
		fmt.Fprintln(b, err)
	}
	for i := range clusters.Items {
		o := &clusters.Items[i]
		spec, _ := json.Marshal(o.Spec)
		status, _ := json.MarshalIndent(o.Status, "", " ")
		fmt.Fprintf(b, "---- SlurmCluster %s\nspec %s\nstatus %s\n", o.Name, spec, status)
	}
}

func (e *Env) tellEvents(ctx context.Context, b *strings.Builder) {
	events := &corev1.EventList{}
	if err := e.List(ctx, events, client.InNamespace(e.Namespace)); err != nil {
		fmt.Fprintln(b, err)
	}
	for _, v := range events.Items {
		if v.Type == corev1.EventTypeWarning {
			fmt.Fprintf(b, "---- event %s %s: %s: %s\n", v.InvolvedObject.Kind, v.InvolvedObject.Name, v.Reason, v.Message)
		}
	}
}

func (e *Env) tellPods(ctx context.Context, b *strings.Builder) {
	pods := &corev1.PodList{}
	if err := e.List(ctx, pods, client.InNamespace(e.Namespace)); err != nil {
		fmt.Fprintln(b, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		fmt.Fprintf(b, "---- pod %s: %s, deleted %v\n", pod.Name, pod.Status.Phase, pod.DeletionTimestamp)
		for _, c := range Statuses(pod) {
			state, _ := json.Marshal(c.State)
			last, _ := json.Marshal(c.LastTerminationState)
			fmt.Fprintf(b, "-- %s: restarts %d, now %s, before %s\n", c.Name, c.RestartCount, state, last)
			b.WriteString(e.logs(ctx, pod, c.Name, podLines))
		}
	}
}

func (e *Env) logs(ctx context.Context, pod *corev1.Pod, container string, lines int64) string {
	if container == contract.ContainerSlurmrestd {
		lines = restdLines
	}
	options := &corev1.PodLogOptions{Container: container, TailLines: &lines}
	stream, err := e.Set.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return err.Error() + "\n"
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(stream)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(text)
}

// tellOperator writes the operator's newest lines about this namespace.
func (e *Env) tellOperator(ctx context.Context, b *strings.Builder) {
	pods, err := e.operatorPods(ctx)
	if err != nil {
		fmt.Fprintln(b, err)
	}
	for i := range pods {
		var ours []string
		for line := range strings.Lines(e.logs(ctx, &pods[i], "", operatorLines)) {
			if strings.Contains(line, e.Namespace) {
				ours = append(ours, line)
			}
		}
		fmt.Fprintf(b, "---- operator %s\n%s", pods[i].Name, strings.Join(ours[max(0, len(ours)-operatorShown):], ""))
	}
}

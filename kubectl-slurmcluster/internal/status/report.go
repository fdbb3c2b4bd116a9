package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/lifetime"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
)

// report is everything the screen shows, and the form of its JSON.
type report struct {
	Name      string                      `json:"name"`
	Namespace string                      `json:"namespace"`
	Created   metav1.Time                 `json:"created"`
	Suspended bool                        `json:"suspended"`
	Status    v1alpha1.SlurmClusterStatus `json:"status"`
	Pods      []podLine                   `json:"pods"`
	Jobs      []slurm.Job                 `json:"jobs"`
	// JobsError says why the jobs are not known.
	JobsError string      `json:"jobsError,omitempty"`
	Events    []eventLine `json:"events"`

	// hints are lines for people below the title.
	hints []string
}

type podLine struct {
	Name     string      `json:"name"`
	Ready    string      `json:"ready"`
	State    string      `json:"state"`
	Restarts int32       `json:"restarts"`
	Created  metav1.Time `json:"created"`
	Host     string      `json:"host"`
}

type eventLine struct {
	Last    metav1.Time `json:"last"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Object  string      `json:"object"`
	Message string      `json:"message"`
}

func gather(ctx context.Context, env *cli.Env, name string) (*report, error) {
	namespace, err := env.Namespace()
	if err != nil {
		return nil, err
	}
	clusters, err := env.Clusters(namespace)
	if err != nil {
		return nil, err
	}
	cluster, err := cli.GetCluster(ctx, clusters, namespace, name)
	if err != nil {
		return nil, err
	}
	kube, err := env.Kube()
	if err != nil {
		return nil, err
	}
	r := &report{Name: name, Namespace: namespace, Created: cluster.CreationTimestamp, Suspended: cluster.Spec.Suspend, Status: cluster.Status}
	if r.Suspended {
		r.hints = append(r.hints, "suspended; to have it back: "+env.Hint("resume", name))
	}
	if notice := lifetime.Notice(cluster, env.Hint("extend", name, "2h")); notice != "" {
		r.hints = append(r.hints, notice)
	}
	if r.Pods, err = podLines(ctx, kube, namespace, name); err != nil {
		return nil, err
	}
	if r.Events, err = eventLines(ctx, kube, namespace, name, r.Pods); err != nil {
		return nil, err
	}
	if r.Jobs, err = jobs(ctx, env, name); err != nil {
		r.JobsError = err.Error() // the rest is worth seeing, above all when slurmctld does not answer
	}
	if errors.Is(err, pods.ErrSuspended) {
		r.JobsError = "the queue is on its volume until the cluster is resumed"
	}
	return r, nil
}

func podLines(ctx context.Context, kube kubernetes.Interface, namespace, name string) ([]podLine, error) {
	list, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: cli.PodSelector(name, "")})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	lines := make([]podLine, 0, len(list.Items))
	for i := range list.Items {
		lines = append(lines, podLineOf(&list.Items[i]))
	}
	return lines, nil
}

func podLineOf(pod *corev1.Pod) podLine {
	line := podLine{Name: pod.Name, State: string(pod.Status.Phase), Created: pod.CreationTimestamp, Host: pod.Spec.NodeName}
	lasting := lastingContainers(pod)
	ready := 0
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		line.Restarts += container.RestartCount
		if container.Ready && lasting[container.Name] {
			ready++
		}
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
			line.State = waiting.Reason
		}
	}
	line.Ready = fmt.Sprintf("%d/%d", ready, len(lasting))
	if pod.DeletionTimestamp != nil {
		line.State = "Terminating"
	}
	return line
}

// lastingContainers are the sidecars and the ordinary containers; munged is a sidecar.
func lastingContainers(pod *corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if container := &pod.Spec.InitContainers[i]; container.RestartPolicy != nil {
			names[container.Name] = true
		}
	}
	for i := range pod.Spec.Containers {
		names[pod.Spec.Containers[i].Name] = true
	}
	return names
}

func jobs(ctx context.Context, env *cli.Env, name string) ([]slurm.Job, error) {
	cluster, err := pods.Open(env, name)
	if err != nil {
		return nil, err
	}
	return slurm.Jobs(ctx, cluster, slurm.Current)
}

// eventLines are the events of the cluster and of its pods, the newest last.
func eventLines(ctx context.Context, kube kubernetes.Interface, namespace, name string, pods []podLine) ([]eventLine, error) {
	list, err := kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	lines := []eventLine{}
	for i := range list.Items {
		event := &list.Items[i]
		object := event.InvolvedObject
		ours := object.Kind == cli.Kind && object.Name == name ||
			object.Kind == "Pod" && slices.ContainsFunc(pods, func(p podLine) bool { return p.Name == object.Name })
		if ours {
			lines = append(lines, eventLine{eventTime(event), event.Type, event.Reason, object.Name, event.Message})
		}
	}
	slices.SortStableFunc(lines, func(a, b eventLine) int { return a.Last.Compare(b.Last.Time) })
	return lines, nil
}

// eventTime is when the event was last seen; old and new recorders write that into different fields.
func eventTime(event *corev1.Event) metav1.Time {
	switch {
	case event.Series != nil && !event.Series.LastObservedTime.IsZero():
		return metav1.Time{Time: event.Series.LastObservedTime.Time}
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp
	case !event.EventTime.IsZero():
		return metav1.Time{Time: event.EventTime.Time}
	}
	return event.CreationTimestamp
}

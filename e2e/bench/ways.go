package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

//go:embed bare.yaml.tmpl
var bareText string

var bareTemplate = template.Must(template.New("bare").Parse(bareText))

// create is (a): what a user types, and then a first job.
func (b *bench) create(ctx context.Context) error {
	_, err := kube.Local(ctx, nil, "kubectl", "create", "slurmcluster", "bench", "--namespace="+b.namespace,
		"--image="+b.image, "--nodes=2", "--cpus=1", "--memory=512Mi", "--cpu-request=10m", "--memory-request=32Mi", "--wait")
	if err != nil {
		return err
	}
	return b.srun(ctx, "bench-controller-0")
}

func (b *bench) deleteCluster(ctx context.Context) error {
	_, err := kube.Local(ctx, nil, "kubectl", "slurmcluster", "--namespace="+b.namespace, "delete", "bench")
	return err
}

// srun runs a job to its end.
func (b *bench) srun(ctx context.Context, pod string) error {
	where := kube.Container{Namespace: b.namespace, Pod: pod, Name: contract.ContainerSlurmctld}
	out, err := b.Exec(ctx, where, nil, "srun", "hostname")
	if err == nil && !strings.HasPrefix(out, "cpu-") {
		err = fmt.Errorf("srun hostname in %s said %q", pod, out)
	}
	return err
}

// bare is (c): what Kubernetes itself takes for a pod.
func (b *bench) bare(ctx context.Context) error {
	watcher, err := b.Watch(ctx, &corev1.PodList{}, client.InNamespace(b.namespace), client.MatchingFields{"metadata.name": "bare"})
	if err != nil {
		return fmt.Errorf("watching the pod: %w", err)
	}
	defer watcher.Stop()
	if err := b.apply(ctx, bareTemplate, map[string]any{"Image": b.image, "Bare": []string{"one", "two"}}); err != nil {
		return err
	}
	for event := range watcher.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok && event.Type != watch.Deleted && ready(pod) {
			return nil
		}
	}
	return errors.Join(errors.New("the watch of the pod ended before it was ready"), ctx.Err())
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (b *bench) deleteBare(ctx context.Context) error {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = "bare", b.namespace
	return b.Delete(ctx, pod)
}

// apply fills in a manifest and hands it to kubectl, as a person would.
func (b *bench) apply(ctx context.Context, t *template.Template, values any) error {
	var manifest bytes.Buffer
	if err := t.Execute(&manifest, values); err != nil {
		return fmt.Errorf("filling in the manifest: %w", err)
	}
	_, err := kube.Local(ctx, &manifest, "kubectl", "apply", "--namespace="+b.namespace, "--filename=-")
	return err
}

// firstJob tries until a job has run.
func (b *bench) firstJob(ctx context.Context, pod string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := b.srun(ctx, pod)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no job ran: %w", err)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// pod is a cluster of one node that has all CPUs, and requests them: what a pod requests is its weight against all else
// that runs on the machine, and a program outside of pods has a weight of its own for each of its processes.
type pod struct {
	image string
	*kube.Kube
	namespace string
}

const cluster = "bench"

func (p *pod) start(ctx context.Context) (err error) {
	if p.Kube, err = kube.Connect(); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "bench-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := p.Create(ctx, namespace); err != nil {
		return fmt.Errorf("making a namespace: %w", err)
	}
	p.namespace = namespace.Name
	_, err = kube.Local(ctx, nil, "kubectl", "create", "slurmcluster", cluster, "--namespace="+p.namespace, "--image="+p.image,
		"--nodes=1", fmt.Sprintf("--cpus=%d", runtime.NumCPU()), "--memory=4Gi", "--wait")
	return err
}

func (p *pod) run(ctx context.Context, line string) (string, error) {
	where := kube.Container{Namespace: p.namespace, Pod: cluster + "-controller-0", Name: contract.ContainerSlurmctld}
	return p.Exec(ctx, where, nil, append(srun(), line)...)
}

// srun runs a line of shell as one task with all CPUs.
func srun() []string {
	return []string{"srun", "--nodes=1", "--ntasks=1", fmt.Sprintf("--cpus-per-task=%d", runtime.NumCPU()), "--mem=0", "sh", "-c"}
}

func (p *pod) stop(ctx context.Context) error {
	if p.namespace == "" {
		return nil
	}
	return p.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
}

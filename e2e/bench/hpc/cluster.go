package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// clusterName is that of every cluster here: there is one at a time.
const clusterName = "bench"

// memoryOfCPU comes with each CPU of a pod, in MiB.
const memoryOfCPU = 2048

// cluster is a cluster on Kubernetes. Its nodes request the CPUs that they have: what a pod requests is its weight against all
// else that runs on the machine, and a program outside of pods has a weight of its own for each of its processes.
type cluster struct {
	*kube.Kube
	namespace, image, nodeImage string
	count, cpus                 int
	cpuRequest, runtimeClass    string
	config                      []string
}

func (c *cluster) nodes() int { return c.count }

func (c *cluster) start(ctx context.Context) error {
	args := []string{
		"create", "slurmcluster", clusterName, "--namespace=" + c.namespace, "--image=" + c.image, fmt.Sprintf("--nodes=%d", c.count),
		fmt.Sprintf("--cpus=%d", c.cpus), fmt.Sprintf("--memory=%dMi", c.cpus*memoryOfCPU), "--wait",
	}
	for flag, value := range map[string]string{"--cpu-request=": c.cpuRequest, "--runtime-class=": c.runtimeClass, "--node-image=": c.nodeImage} {
		if value != "" {
			args = append(args, flag+value)
		}
	}
	for _, parameter := range c.config {
		args = append(args, "--config="+parameter)
	}
	_, err := kube.Local(ctx, nil, "kubectl", args...)
	return err
}

func (c *cluster) run(ctx context.Context, command ...string) (string, error) {
	where := kube.Container{Namespace: c.namespace, Pod: clusterName + "-controller-0", Name: contract.ContainerSlurmctld}
	return c.Exec(ctx, where, nil, command...)
}

// stopTime is how long the pods of a cluster may take to end.
const stopTime = 2 * time.Minute

// stop waits until no pod is left, so that what is measured next does not pay for it.
func (c *cluster) stop(ctx context.Context) error {
	if _, err := kube.Local(ctx, nil, "kubectl", "slurmcluster", "--namespace="+c.namespace, "delete", clusterName, "--ignore-not-found"); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, time.Second/10, stopTime, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := c.List(ctx, pods, client.InNamespace(c.namespace))
		return len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("waiting until all pods are gone: %w", err)
	}
	return nil
}

package nodes

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// shimReport is the node's own account.
type shimReport struct {
	// Report is what slurmd-shim inspect prints as JSON.
	Report json.RawMessage `json:"report,omitempty"`
	// Error says why there is none.
	Error string `json:"error,omitempty"`
	// text is what it prints for people.
	text string
}

// askShim asks in the form that is needed: the shim has words of its own for people.
func askShim(ctx context.Context, cluster *pods.Cluster, pod *corev1.Pod, asJSON bool) shimReport {
	target := podexec.Target{Namespace: pod.Namespace, Pod: pod.Name, Container: contract.ContainerSlurmd}
	command := append([]string{"slurmd-shim", "inspect"}, nodeFlags(pod)...)
	if asJSON {
		command = append(command, "--output=json")
	}
	text, err := cluster.Output(ctx, target, command...)
	switch {
	case err != nil:
		return shimReport{Error: err.Error()}
	case !asJSON:
		return shimReport{text: text}
	case !json.Valid([]byte(text)):
		return shimReport{Error: "slurmd-shim inspect wrote no JSON"}
	}
	return shimReport{Report: json.RawMessage(text)}
}

// nodeFlags are the flags of the pod's slurmd that decide what Slurm is told; inspect takes the same.
func nodeFlags(pod *corev1.Pod) []string {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == contract.ContainerSlurmd {
			return slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool {
				return !strings.HasPrefix(arg, "--gres=") && !strings.HasPrefix(arg, "--task-binding=")
			})
		}
	}
	return nil
}

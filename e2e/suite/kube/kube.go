// Package kube is what tests and benchmarks need of a Kubernetes: clients, and running commands in pods and
// on this machine.
package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubectlexec "k8s.io/kubectl/pkg/cmd/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Kube is a Kubernetes that was connected to.
type Kube struct {
	client.WithWatch
	// Set is for what the generic client cannot do: logs, and requests of any path.
	Set    kubernetes.Interface
	config *rest.Config
}

// Container names a container.
type Container struct{ Namespace, Pod, Name string }

// Connect connects to the Kubernetes that KUBECONFIG names.
func Connect() (*Kube, error) {
	c, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding a Kubernetes: %w; set KUBECONFIG, or start one with 'make cluster-up'", err)
	}
	c.QPS = -1 // a limit in the client would only be measured with the rest
	return connect(c)
}

// As is the same Kubernetes for another user.
func (k *Kube) As(user string, groups ...string) (*Kube, error) {
	c := rest.CopyConfig(k.config)
	c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return connect(c)
}

func connect(c *rest.Config) (*Kube, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("adding types to the client: %w", err)
		}
	}
	generic, err := client.NewWithWatch(c, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	set, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	return &Kube{WithWatch: generic, Set: set, config: c}, nil
}

// Exec runs a command in a container and returns its standard output. The error holds what it said.
func (k *Kube) Exec(ctx context.Context, c Container, in io.Reader, command ...string) (string, error) {
	var out, said bytes.Buffer
	url := k.Set.CoreV1().RESTClient().Post().
		Resource("pods").Namespace(c.Namespace).Name(c.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: c.Name, Command: command, Stdin: in != nil, Stdout: true, Stderr: true,
		}, clientgoscheme.ParameterCodec).URL()
	executor := &kubectlexec.DefaultRemoteExecutor{}
	err := executor.ExecuteWithContext(ctx, url, k.config, in, &out, &said, false, nil)
	if err != nil {
		err = fmt.Errorf("%s in %s/%s: %w: %s", strings.Join(command, " "), c.Namespace, c.Pod, err,
			strings.TrimSpace(said.String()+out.String()))
	}
	return out.String(), err
}

// Local runs a program of this machine, such as kubectl, and returns its standard output. The error holds
// what it said.
func Local(ctx context.Context, in io.Reader, program string, args ...string) (string, error) {
	var out, said bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Env, command.Stdin, command.Stdout, command.Stderr = os.Environ(), in, &out, &said
	err := command.Run()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(said.String()+out.String()))
	}
	return out.String(), err
}

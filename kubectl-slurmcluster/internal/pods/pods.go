// Package pods finds the pods of a cluster and runs commands in them.
package pods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/lifetime"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/wait"
)

// Cluster is a SlurmCluster whose pods run commands.
type Cluster struct {
	Namespace, Name string

	env      *cli.Env
	clusters cli.Clusters
	kube     kubernetes.Interface
	runner   podexec.Runner
}

// Open returns the cluster of this name in the namespace that the flags name. It sends no request.
func Open(env *cli.Env, name string) (*Cluster, error) {
	c := &Cluster{Name: name, env: env}
	var err error
	if c.Namespace, err = env.Namespace(); err != nil {
		return nil, err
	}
	if c.clusters, err = env.Clusters(c.Namespace); err != nil {
		return nil, err
	}
	if c.kube, err = env.Kube(); err != nil {
		return nil, err
	}
	c.runner, err = env.Exec()
	return c, err
}

// Controller is the container of slurmctld.
func (c *Cluster) Controller() podexec.Target {
	return podexec.Target{Namespace: c.Namespace, Pod: cli.ControllerPod(c.Name), Container: contract.ContainerSlurmctld}
}

// Session runs a command in the controller pod for the person in front of the plugin.
func (c *Cluster) Session(ctx context.Context, command []string, streams genericiooptions.IOStreams) error {
	return c.explain(ctx, c.Controller(), podexec.Session(ctx, c.runner, c.Controller(), command, streams))
}

// Terminal is a Session with the person's terminal.
func (c *Cluster) Terminal(ctx context.Context, target podexec.Target, command []string, streams genericiooptions.IOStreams) error {
	return c.explain(ctx, target, podexec.Terminal(ctx, c.runner, target, command, streams))
}

// Notice says when the cluster ends, if it ends by itself. What cannot be read is left out: the command that follows
// says what is wrong.
func (c *Cluster) Notice(ctx context.Context) string {
	cluster, err := c.clusters.Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	notice := lifetime.Notice(cluster, c.env.Hint("extend", c.Name, "2h"))
	if notice == "" {
		return ""
	}
	return c.Name + " " + notice
}

// Run runs a command as it is.
func (c *Cluster) Run(ctx context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
	return c.explain(ctx, target, c.runner.Run(ctx, target, command, streams))
}

// Output runs a command and returns what it printed; if it fails, the error says what it said.
func (c *Cluster) Output(ctx context.Context, target podexec.Target, command ...string) (string, error) {
	var out, errOut bytes.Buffer
	err := c.Run(ctx, target, command, podexec.Streams{Out: &out, Err: &errOut})
	if said := strings.TrimSpace(errOut.String()); err != nil && said != "" {
		err = fmt.Errorf("%s in pod %s: %s: %w", command[0], target.Pod, said, err)
	}
	return out.String(), err
}

// Node is the container of a node's slurmd.
func (c *Cluster) Node(ctx context.Context, node string) (podexec.Target, error) {
	found, err := c.targets(ctx, cli.PodSelector(c.Name, node))
	if err != nil {
		return podexec.Target{}, err
	}
	if len(found) == 0 {
		return podexec.Target{}, &NoNodeError{node: node, why: c.whyNoNode(ctx)}
	}
	return found[0], nil
}

// NoNodeError says that a node has no running pod.
type NoNodeError struct {
	node string
	why  error
}

// Error implements error.
func (e *NoNodeError) Error() string {
	return fmt.Sprintf("node %s has no running pod; %s", e.node, e.why)
}

// Unwrap returns ErrSuspended, for nodes of a suspended cluster.
func (e *NoNodeError) Unwrap() error { return e.why }

func (c *Cluster) whyNoNode(ctx context.Context) error {
	cluster, err := cli.GetCluster(ctx, c.clusters, c.Namespace, c.Name)
	switch {
	case err != nil:
		return err
	case cluster.Spec.Suspend:
		return c.suspended()
	}
	return errors.New("see: " + c.env.Hint("status", c.Name))
}

// ErrSuspended is in the errors of commands for pods that a suspended cluster does not have.
var ErrSuspended = errors.New("is suspended")

func (c *Cluster) suspended() error {
	return fmt.Errorf("%s %w; to have it back: %s", c.Name, ErrSuspended, c.env.Hint("resume", c.Name))
}

// All are the containers of all running daemons, slurmctld's first.
func (c *Cluster) All(ctx context.Context) ([]podexec.Target, error) {
	found, err := c.targets(ctx, cli.PodSelector(c.Name, ""))
	return append([]podexec.Target{c.Controller()}, found...), err
}

// targets are the slurmd containers of the pods that a selector selects.
func (c *Cluster) targets(ctx context.Context, selector string) ([]podexec.Target, error) {
	selector += "," + contract.LabelRole + "=" + contract.RoleSlurmd
	list, err := c.kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var found []podexec.Target
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Status.Phase == corev1.PodRunning {
			found = append(found, podexec.Target{Namespace: c.Namespace, Pod: pod.Name, Container: contract.ContainerSlurmd})
		}
	}
	return found, nil
}

// explain says why a command could not be run; that it ran and failed needs no explanation.
func (c *Cluster) explain(ctx context.Context, target podexec.Target, err error) error {
	if _, ran := podexec.ExitCode(err); err == nil || ran || errors.Is(err, context.Canceled) {
		return err
	}
	cluster, getErr := cli.GetCluster(ctx, c.clusters, c.Namespace, c.Name)
	if getErr != nil {
		return getErr
	}
	if wait.IsReady(cluster) {
		return fmt.Errorf("running a command in pod %s: %w", target.Pod, err)
	}
	if cluster.Spec.Suspend && c.isMissing(ctx, target.Pod) {
		return c.suspended()
	}
	return fmt.Errorf("running a command in pod %s: %w; the cluster is not ready (%s); see: %s",
		target.Pod, err, wait.State(cluster), c.env.Hint("status", c.Name))
}

func (c *Cluster) isMissing(ctx context.Context, pod string) bool {
	_, err := c.kube.CoreV1().Pods(c.Namespace).Get(ctx, pod, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

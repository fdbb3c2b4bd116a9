// Package podexec runs commands in containers the way kubectl exec does: over a websocket, and over SPDY
// where a proxy or an old API server has no websocket.
package podexec

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	clientexec "k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

// Target is a container.
type Target struct {
	Namespace string
	Pod       string
	Container string
}

// Streams are what a command reads and writes. A nil stream is not connected.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// TTY gives the command a terminal; Sizes tells its size. Err is not used then.
	TTY   bool
	Sizes remotecommand.TerminalSizeQueue
}

// Runner runs a command to its end. An exit code that is not zero is an error for which ExitCode answers.
type Runner interface {
	Run(ctx context.Context, target Target, command []string, streams Streams) error
}

// ExitCode is the exit code of a command that ran and failed.
func ExitCode(err error) (int, bool) {
	var exit clientexec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitStatus(), true
	}
	return 0, false
}

// Remote is the Runner that asks the API server.
type Remote struct {
	config *rest.Config
}

// NewRemote returns a Runner for this API server.
func NewRemote(config *rest.Config) *Remote {
	return &Remote{config: config}
}

// Run implements Runner.
func (r *Remote) Run(ctx context.Context, target Target, command []string, streams Streams) error {
	address, err := r.address(target, command, streams)
	if err != nil {
		return err
	}
	executor, err := r.executor(address)
	if err != nil {
		return err
	}
	// What goes wrong is returned. client-go would log it, too: lines that a person who interrupts does not want to see.
	ctx = klog.NewContext(ctx, logr.Discard())
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{
		Stdin: streams.In, Stdout: streams.Out, Stderr: streams.Err, Tty: streams.TTY, TerminalSizeQueue: streams.Sizes,
	})
}

// executor is that of kubectl exec, whose package would make this program's start twice as long.
func (r *Remote) executor(address *url.URL) (remotecommand.Executor, error) {
	websocket, err := remotecommand.NewWebSocketExecutor(r.config, http.MethodGet, address.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(r.config, http.MethodPost, address)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

func (r *Remote) address(target Target, command []string, streams Streams) (*url.URL, error) {
	client, err := kubernetes.NewForConfig(r.config)
	if err != nil {
		return nil, err
	}
	return client.CoreV1().RESTClient().Post().
		Resource("pods").Namespace(target.Namespace).Name(target.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: target.Container,
			Command:   command,
			Stdin:     streams.In != nil,
			Stdout:    streams.Out != nil,
			Stderr:    streams.Err != nil,
			TTY:       streams.TTY,
		}, scheme.ParameterCodec).URL(), nil
}

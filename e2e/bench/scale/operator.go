package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

// metricsAddress is where the measured operator tells of itself.
const (
	metricsAddress = "127.0.0.1:18090"
	metricsURL     = "http://" + metricsAddress + "/metrics"
)

// child is a program that this one has started.
type child struct {
	name    string
	process *os.Process
	log     *os.File
	// ended tells how it ended.
	ended chan error
}

// start starts a program that writes into a log of its own, and waits until it answers.
func start(ctx context.Context, name, answersAt, program string, args ...string) (*child, error) {
	log, err := os.CreateTemp("", "scale-"+name+"-*.log")
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c := &child{name: name, process: command.Process, log: log, ended: make(chan error, 1)}
	go func() { c.ended <- command.Wait() }()
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startLimit, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-c.ended:
			c.ended <- err
			return false, errors.Join(errors.New("it ended"), err)
		default:
		}
		_, err := get(ctx, answersAt)
		return err == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w; its log is %s", name, errors.Join(err, c.stop()), log.Name())
	}
	return c, nil
}

// startLimit is how long a program may take to answer.
const startLimit = time.Minute

// stop ends it, unless that was done.
func (c *child) stop() error {
	if c.log == nil {
		return nil
	}
	err := c.process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-c.ended //nolint:errcheck // it ended by the signal
	errClose := c.log.Close()
	c.log = nil
	return errors.Join(err, errClose)
}

// get reads a page.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", url, response.Status)
	}
	return text, err
}

func startOperator(ctx context.Context, program, namespace string) (*child, error) {
	return start(ctx, "operator", metricsURL, program, "--leader-elect=false", "--watch-namespaces="+namespace,
		"--metrics-bind-address="+metricsAddress, "--health-probe-bind-address=0", "--pprof-bind-address=127.0.0.1:18092", "--slurm-image=example.org/slurm",
		"--operator-namespace="+ours.Namespace)
}

// usage is what the operator has used since its start.
type usage struct {
	// cpu is in seconds, memory in bytes.
	cpu, memory float64
	// writes are requests to the API server that are not for reading, reads those that are.
	writes, reads float64
}

// use asks the operator what it has used.
func use(ctx context.Context) (u usage, err error) {
	text, err := get(ctx, metricsURL)
	if err != nil {
		return u, fmt.Errorf("asking the operator for its metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return u, fmt.Errorf("reading the operator's metrics: %w", err)
	}
	for _, m := range families["process_cpu_seconds_total"].GetMetric() {
		u.cpu += m.GetCounter().GetValue()
	}
	for _, m := range families["process_resident_memory_bytes"].GetMetric() {
		u.memory += m.GetGauge().GetValue()
	}
	for _, m := range families["rest_client_requests_total"].GetMetric() {
		for _, label := range m.GetLabel() {
			switch {
			case label.GetName() != "method":
			case label.GetValue() == http.MethodGet:
				u.reads += m.GetCounter().GetValue()
			default:
				u.writes += m.GetCounter().GetValue()
			}
		}
	}
	return u, nil
}

// during is what the operator uses while something is done.
func during(ctx context.Context, do func() error) (usage, error) {
	before, err := use(ctx)
	if err != nil {
		return usage{}, err
	}
	if err := do(); err != nil {
		return usage{}, err
	}
	after, err := use(ctx)
	return usage{cpu: after.cpu - before.cpu, memory: after.memory, writes: after.writes - before.writes, reads: after.reads - before.reads}, err
}

// idle waits and does nothing.
func idle(ctx context.Context, d time.Duration) func() error {
	return func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
}

// await waits for something that takes a while, and says how far it is.
func await(ctx context.Context, what string, limit time.Duration, check func(context.Context) (state string, done bool, err error)) error {
	began, said := time.Now(), time.Time{}
	var state string
	err := wait.PollUntilContextTimeout(ctx, time.Second, limit, true, func(ctx context.Context) (done bool, err error) {
		state, done, err = check(ctx)
		if done || time.Since(said) > 10*time.Second {
			said = time.Now()
			program.Progress("%s: %s, after %.0f s", what, state, time.Since(began).Seconds())
		}
		return done, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %s: %w", what, state, err)
	}
	return nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/build"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/control"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/images"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/manifests"
)

const (
	upInterval   = 50 * time.Millisecond
	upTimeout    = 2 * time.Minute
	probeTimeout = time.Second
	// A component that exits this often while we wait for it will not recover.
	hopeless = 5
)

// Up starts what does not run, and returns when a pod really runs.
func (c Cluster) Up(ctx context.Context, options layout.Options, step build.Step) error {
	if _, alive := c.Init(); !alive {
		err := step("start namespaces", func() error {
			// What an earlier, crashed cluster left behind would only confuse.
			if err := c.Down(ctx); err != nil {
				return err
			}
			return c.start(options)
		})
		if err != nil {
			return err
		}
	}
	for _, phase := range c.phases(ctx) {
		if err := step(phase.name, phase.do); err != nil {
			return err
		}
	}
	return nil
}

type phase struct {
	name string
	do   func() error
}

func (c Cluster) phases(ctx context.Context) []phase {
	return []phase{
		{"start containerd", func() error { return c.waitForComponents(ctx, components.Containerd) }},
		{"load system images", func() error { return c.loadSystemImages(ctx) }},
		{"start components", func() error { return c.waitForComponents(ctx) }},
		{"apply DNS and storage", func() error { return c.apply(ctx, "DNS and storage", manifests.System) }},
		{"node ready", func() error { return c.waitForNode(ctx) }},
		{"run a test pod", func() error { return c.runTestPod(ctx, "") }},
		{"DNS ready", func() error { return c.waitForDNS(ctx) }},
	}
}

// waitForComponents waits until the named components, or all, are healthy. One
// that was stopped on purpose is started: `up` means all of it.
func (c Cluster) waitForComponents(ctx context.Context, names ...string) error {
	var waitingFor error
	before := map[string]int{} // restarts when we began to wait
	err := wait.PollUntilContextTimeout(ctx, upInterval, upTimeout, true, func(ctx context.Context) (bool, error) {
		if _, alive := c.Init(); !alive {
			return false, fmt.Errorf("the cluster's first process died:\n%s", c.LogTail(InitCommand))
		}
		states, err := c.Control().Status(ctx)
		if err != nil { // it does not listen yet
			waitingFor = fmt.Errorf("%w:\n%s", err, c.LogTail(InitCommand))
			return false, nil
		}
		waitingFor = nil
		for _, component := range states {
			if component.Healthy || len(names) > 0 && !slices.Contains(names, component.Name) {
				continue
			}
			waitingFor = c.unhealthy(component)
			if _, seen := before[component.Name]; !seen {
				before[component.Name] = component.Restarts
			}
			if !component.Wanted {
				if err := c.Control().Start(ctx, component.Name); err != nil {
					return false, err
				}
			}
			if component.Restarts >= before[component.Name]+hopeless && component.PID == 0 {
				return false, waitingFor
			}
		}
		return waitingFor == nil, nil
	})
	if wait.Interrupted(err) && waitingFor != nil {
		return waitingFor
	}
	return err
}

func (c Cluster) unhealthy(component control.Component) error {
	return fmt.Errorf("%s is not healthy (restarts: %d, last exit: %s); its log ends with:\n%s",
		component.Name, component.Restarts, component.LastExit, c.LogTail(component.Name))
}

// LogTail returns the last lines of a component's log.
func (c Cluster) LogTail(component string) string {
	const lines = 20
	data, err := os.ReadFile(c.Paths.Log(component))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (c Cluster) loadSystemImages(ctx context.Context) error {
	for _, image := range images.All {
		if _, err := c.Load(ctx, c.Paths.Image(image.Name)); err != nil {
			return err
		}
	}
	return nil
}

// timeoutHint explains a wait that ended without a result.
func timeoutHint(err error, what, where string) error {
	if err == nil || (!wait.Interrupted(err) && !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	return fmt.Errorf("%s did not happen in time; look at %s", what, where)
}

package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/build"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cluster"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

func newUp(s *settings) *cobra.Command {
	var policy, reserved string
	var gvisor bool
	command := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing, start what does not run, and wait until a pod runs",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return up(command.Context(), s, layout.Options{CPUManagerPolicy: policy, ReservedCPUs: reserved}, gvisor)
		},
	}
	command.Flags().StringVar(&policy, "cpu-manager-policy", "none", "the kubelet's CPU manager policy: none or static")
	command.Flags().StringVar(&reserved, "reserved-cpus", "", `CPUs that no pod gets exclusively, such as 0-1 (static policy: default one)`)
	command.Flags().BoolVar(&gvisor, "gvisor", false, "also offer the RuntimeClass gvisor; a cluster that runs already gets it without a restart")
	return command
}

func up(ctx context.Context, s *settings, options layout.Options, gvisor bool) error {
	if err := checkTools(); err != nil {
		return err
	}
	toolchain, err := build.FindToolchain(ctx, s.source)
	if err != nil {
		return err
	}
	key, err := build.Kubernetes.Key(s.source, toolchain)
	if err != nil {
		return err
	}
	isUp, err := alreadyUp(ctx, s.cluster(), key, options)
	if err != nil {
		return err
	}
	steps := newProgress(os.Stdout)
	if !isUp {
		if err := start(ctx, s, key, options, steps.step); err != nil {
			return err
		}
	}
	gvisorKey, err := build.GVisor.Key(s.source, toolchain)
	if err != nil {
		return err
	}
	if gvisor {
		if err := addGVisor(ctx, s, gvisorKey, steps.step); err != nil {
			return err
		}
	}
	// A cluster that was healed runs on with the programs it was started with.
	running, err := layout.LoadOptions(s.state)
	if err != nil {
		return err
	}
	return build.Prune(s.cache, key, gvisorKey, running.Key)
}

// start builds and starts what is not there.
func start(ctx context.Context, s *settings, key string, options layout.Options, step build.Step) error {
	began := time.Now()
	bin, err := build.Kubernetes.Build(ctx, s.source, s.cache, key, step)
	if err != nil {
		return err
	}
	c := s.cluster()
	options.Key = key
	options.Paths = layout.Paths{State: s.state, Run: s.run, Bin: bin}
	if _, alive := c.Init(); !alive {
		c.Paths.Bin = bin
	}
	if err := c.Up(ctx, options, step); err != nil {
		return fmt.Errorf("%w\nall logs are in %s; `localkube up` tries again, `localkube down` removes everything", err, c.Paths.Dir("logs"))
	}
	fmt.Printf("localkube is up after %s: export KUBECONFIG=%s\n", elapsed(began), c.Paths.AdminKubeconfig())
	return nil
}

// addGVisor builds gVisor, and gives it to the cluster that runs.
func addGVisor(ctx context.Context, s *settings, key string, step build.Step) error {
	bin, err := build.GVisor.Build(ctx, s.source, s.cache, key, step)
	if err != nil {
		return err
	}
	c := s.cluster()
	if err := c.AddGVisor(ctx, bin, step); err != nil {
		return fmt.Errorf("%w\nall logs are in %s", err, c.Paths.Dir("logs"))
	}
	return nil
}

// alreadyUp answers an `up` that has nothing to do, and refuses one that would
// change a running cluster.
func alreadyUp(ctx context.Context, c cluster.Cluster, key string, wanted layout.Options) (bool, error) {
	if _, alive := c.Init(); !alive {
		return false, nil
	}
	running, err := layout.LoadOptions(c.Paths.State)
	if err != nil {
		return false, err
	}
	if running.CPUManagerPolicy != wanted.CPUManagerPolicy || running.ReservedCPUs != wanted.ReservedCPUs {
		return false, fmt.Errorf("the running cluster has CPU manager policy %s (reserved CPUs: %q): run `localkube down` first",
			running.CPUManagerPolicy, running.ReservedCPUs)
	}
	if running.Key != key {
		fmt.Println("note: the running cluster is of an older build; `localkube down` and `localkube up` replace it")
	}
	status, err := c.Status(ctx)
	if err != nil || !status.Healthy() {
		return false, nil //nolint:nilerr // Up finds out, and says, what is wrong
	}
	fmt.Printf("localkube is already up and healthy: export KUBECONFIG=%s\n", c.Paths.AdminKubeconfig())
	return true, nil
}

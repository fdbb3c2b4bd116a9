package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/build"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/manifests"
)

// AddGVisor gives a running cluster the RuntimeClass gvisor, from the programs in bin. Nothing is restarted for it:
// containerd knows from its start where they will be.
func (c Cluster) AddGVisor(ctx context.Context, bin string, step build.Step) error {
	if _, err := os.Stat(c.Paths.Config(components.GVisorConfig)); err != nil {
		return fmt.Errorf("the running cluster is of a build that knew no gVisor: run `localkube down` first (%w)", err)
	}
	for _, phase := range []phase{
		{"install gVisor", func() error { return c.installGVisor(bin) }},
		{"apply RuntimeClass gvisor", func() error { return c.apply(ctx, "RuntimeClass gvisor", manifests.GVisor) }},
		{"run a test pod in gVisor", func() error { return c.runTestPod(ctx, manifests.GVisorClass) }},
	} {
		if err := step(phase.name, phase.do); err != nil {
			return err
		}
	}
	return nil
}

// installGVisor copies the programs to where containerd looks for them: the cache need not be in sight inside. As with
// all other programs, a running cluster keeps those it has. They appear together or not at all.
func (c Cluster) installGVisor(bin string) error {
	final := c.Paths.GVisor("")
	if _, err := os.Stat(final); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial := c.Paths.Dir("tmp", "gvisor")
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("removing half an installation of gVisor: %w", err)
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return fmt.Errorf("installing gVisor: %w", err)
	}
	programs, err := os.ReadDir(bin)
	if err != nil {
		return fmt.Errorf("installing gVisor: %w", err)
	}
	for _, program := range programs {
		if err := copyProgram(filepath.Join(bin, program.Name()), filepath.Join(partial, program.Name())); err != nil {
			return fmt.Errorf("installing gVisor: %w", err)
		}
	}
	if err := os.Rename(partial, final); err != nil {
		return fmt.Errorf("installing gVisor: %w", err)
	}
	return nil
}

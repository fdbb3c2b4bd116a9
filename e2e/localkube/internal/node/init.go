// Package node is pid 1 of the cluster: it makes the namespaces it was started
// in the cluster's own, then starts and tends the components.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cgroup"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/network"
)

// GateFD is the file descriptor on which Run waits for the word that its
// network is attached. If `up` dies before, the gate closes and so does Run.
const GateFD = 3

// Run is the life of the cluster. It returns only when it could not start.
func Run(ctx context.Context, stateDir string) error {
	if os.Getpid() != 1 {
		return errors.New("only `localkube up` can start this, in namespaces of its own")
	}
	options, err := layout.LoadOptions(stateDir)
	if err != nil {
		return err
	}
	if err := waitForGate(); err != nil {
		return err
	}
	if err := prepare(options); err != nil {
		return err
	}
	reaper := newReaper()
	go reaper.run()
	supervisor := newSupervisor(options, reaper)
	supervisor.run(ctx)
	return supervisor.serve(options.Control())
}

func waitForGate() error {
	gate := os.NewFile(GateFD, "gate")
	defer gate.Close()
	if _, err := gate.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("waiting for `localkube up` to attach the network: %w", err)
	}
	return nil
}

// prepare does all that must be right before the first component starts. It
// runs commands, so it must be over before the reaper collects every child.
func prepare(o layout.Options) error {
	if err := unix.Sethostname([]byte(layout.NodeName)); err != nil {
		return fmt.Errorf("setting the node's host name: %w", err)
	}
	if err := os.Setenv("PATH", o.Bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"); err != nil {
		return fmt.Errorf("setting PATH: %w", err)
	}
	if err := os.Setenv("TMPDIR", o.Dir("tmp")); err != nil {
		return fmt.Errorf("setting TMPDIR: %w", err)
	}
	if err := cgroup.Enter(layout.Cgroup, "daemons"); err != nil {
		return err
	}
	if err := setUpMounts(o); err != nil {
		return err
	}
	if err := network.SetUpInside(); err != nil {
		return err
	}
	host, err := probeHost(o)
	if err != nil {
		return err
	}
	if err := components.WriteConfigs(o, host); err != nil {
		return err
	}
	return coverResolvConf(o)
}

// coverResolvConf keeps the components themselves from asking the host's name
// servers. A file that is not there, or a link into the hidden /run, needs no cover.
func coverResolvConf(o layout.Options) error {
	err := unix.Mount(o.Config("resolv.conf"), "/etc/resolv.conf", "", unix.MS_BIND, "")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("covering /etc/resolv.conf: %w", err)
	}
	return nil
}

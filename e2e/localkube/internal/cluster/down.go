package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cgroup"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/network"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/proc"
)

const (
	downTimeout  = 30 * time.Second
	downInterval = 20 * time.Millisecond
)

// Down removes the cluster, whatever state it is in. With pid 1 of its pid
// namespace dies every process, and with those go mounts and interfaces; only
// cgroups and directories are left to remove by hand.
func (c Cluster) Down(ctx context.Context) error {
	for _, root := range []string{c.Paths.State, c.Paths.Run} {
		if err := checkOurs(root); err != nil {
			return err
		}
	}
	if id, alive := c.Init(); alive {
		if err := id.Kill(downTimeout); err != nil {
			return err
		}
	}
	if err := removeCgroup(ctx); err != nil {
		return err
	}
	if err := network.Detach(); err != nil {
		return err
	}
	for _, root := range []string{c.Paths.State, c.Paths.Run} {
		if err := removeDirectory(root); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroup also kills whatever is still in the cgroup: a pid 1 that was
// not recorded, because `up` was interrupted, is found here.
func removeCgroup(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, downInterval, downTimeout, true, func(context.Context) (bool, error) {
		pids, err := cgroup.Procs(layout.Cgroup)
		if err != nil {
			return false, err
		}
		for _, pid := range pids {
			if id, err := proc.Find(pid); err == nil {
				if err := id.Kill(downTimeout); err != nil {
					return false, err
				}
			}
		}
		last = cgroup.Remove(layout.Cgroup)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w (last try: %w)", err, last)
	}
	return err
}

// removeDirectory removes one of our directories. No mount of ours is in the
// host's mount namespace; should somebody else's be there, it is taken away
// first, or its contents would be deleted.
func removeDirectory(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return fmt.Errorf("looking for mounts below %s: %w", dir, err)
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i].Mountpoint == dir {
			continue // an administrator may give us a filesystem of our own
		}
		if err := unix.Unmount(mounts[i].Mountpoint, 0); err != nil {
			return fmt.Errorf("unmounting %s: %w", mounts[i].Mountpoint, err)
		}
	}
	err = os.RemoveAll(dir)
	if errors.Is(err, unix.EBUSY) { // it is a mount point, and empty now
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}

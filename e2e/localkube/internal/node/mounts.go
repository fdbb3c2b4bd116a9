package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// hidden are directories that Kubernetes writes to under fixed names. A fresh
// tmpfs on each keeps the host's own out of sight and untouched.
var hidden = []string{"/run", "/var/lib", "/var/log"}

// setUpMounts makes this mount namespace the cluster's own.
func setUpMounts(o layout.Options) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cutting mounts off from the host: %w", err)
	}
	if err := mountKernelFilesystems(); err != nil {
		return err
	}
	if err := hideDirectories(o); err != nil {
		return err
	}
	if err := shadowSysctls(o); err != nil {
		return err
	}
	// The kubelet and containerd hand mounts on to pods, which takes sharing.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("sharing mounts within the cluster: %w", err)
	}
	return nil
}

// mountKernelFilesystems replaces /proc and /sys by ones that show this pid and
// network namespace, and takes the cgroup hierarchies over to the new /sys.
func mountKernelFilesystems() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	cgroups, err := cloneTree("/sys/fs/cgroup")
	if err != nil {
		return err
	}
	defer unix.Close(cgroups)
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /sys: %w", err)
	}
	return attachTree(cgroups, "/sys/fs/cgroup")
}

// hideDirectories mounts a tmpfs on each hidden directory, and puts our own
// directories back where they were.
func hideDirectories(o layout.Options) error {
	ours := []string{o.State, o.Run, filepath.Dir(o.Bin)}
	trees := make([]int, len(ours))
	for i, path := range ours {
		tree, err := cloneTree(path)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		trees[i] = tree
	}
	for _, path := range hidden {
		if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return fmt.Errorf("mounting a tmpfs on %s: %w", path, err)
		}
	}
	for i, path := range ours {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("making a place for %s: %w", path, err)
		}
		if err := attachTree(trees[i], path); err != nil {
			return err
		}
	}
	return nil
}

// kubeletSysctls are what the kubelet insists on. They belong to the whole
// host (panic_on_oops would even make it reboot), so the kubelet is shown that
// they are as it wants them.
var kubeletSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// shadowSysctls mounts files over the sysctls above. The kernel lets a user
// namespace mount a /proc of its own only where a fully visible one is in
// sight, so pods with hostUsers: false need a second, pristine one.
func shadowSysctls(o layout.Options) error {
	pristine := o.Dir("proc")
	if err := os.MkdirAll(pristine, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", pristine, err)
	}
	if err := unix.Mount("proc", pristine, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting a pristine /proc: %w", err)
	}
	for name, value := range kubeletSysctls {
		file := o.Dir("sysctl", filepath.Base(name))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing the stand-in for sysctl %s: %w", name, err)
		}
		err := unix.Mount(file, filepath.Join("/proc/sys", name), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("covering sysctl %s: %w", name, err)
		}
	}
	return nil
}

func cloneTree(path string) (int, error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("picking up %s: %w", path, err)
	}
	return tree, nil
}

func attachTree(tree int, path string) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("putting %s back: %w", path, err)
	}
	return nil
}

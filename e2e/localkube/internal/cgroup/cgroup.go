// Package cgroup makes and removes the cluster's cgroup, in whatever cgroup
// hierarchies the host has: version 1, version 2, or both.
package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Roots returns the mount point of every cgroup hierarchy.
func Roots() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("listing cgroup hierarchies: %w", err)
	}
	roots := parseRoots(string(data))
	if len(roots) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted; mount one on /sys/fs/cgroup")
	}
	return roots, nil
}

// parseRoots keeps one mount point for each hierarchy, the first.
func parseRoots(mountinfo string) []string {
	var roots []string
	seen := map[string]bool{}
	for scanner := bufio.NewScanner(strings.NewReader(mountinfo)); scanner.Scan(); {
		before, after, found := strings.Cut(scanner.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 1 {
			continue
		}
		device, root, point := left[2], left[3], left[4]
		if (right[0] != "cgroup" && right[0] != "cgroup2") || root != "/" || seen[device] {
			continue
		}
		seen[device] = true
		roots = append(roots, point)
	}
	return roots
}

// Enter makes the cgroup name and its child in every hierarchy, and moves the
// calling process into the child.
func Enter(name, child string) error {
	roots, err := Roots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		for _, dir := range []string{filepath.Join(root, name), filepath.Join(root, name, child)} {
			if err := makeDir(dir); err != nil {
				return fmt.Errorf("making cgroup %s: %w", dir, err)
			}
		}
		procs := filepath.Join(root, name, child, "cgroup.procs")
		if err := os.WriteFile(procs, []byte("0"), 0o644); err != nil {
			return fmt.Errorf("joining cgroup %s: %w", filepath.Dir(procs), err)
		}
	}
	return nil
}

// makeDir makes a cgroup. A version 1 cpuset starts out empty, and an empty
// one admits no process, so it gets what its parent has.
func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || strings.TrimSpace(string(own)) != "" || isV2(dir) {
			continue
		}
		parent, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), parent, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func isV2(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.controllers"))
	return err == nil
}

// Procs returns every process in the cgroup and below it.
func Procs(name string) ([]int, error) {
	var pids []int
	err := walk(name, func(dir string) error {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil && !gone(err) && !errors.Is(err, syscall.EOPNOTSUPP) {
			return fmt.Errorf("listing the processes of cgroup %s: %w", dir, err)
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids, err
}

// Remove removes the cgroup and all below it from every hierarchy. It fails
// with EBUSY while a process in it is still dying.
func Remove(name string) error {
	return walk(name, func(dir string) error {
		if err := os.Remove(dir); err != nil && !gone(err) {
			return fmt.Errorf("removing cgroup: %w", err)
		}
		return nil
	})
}

// walk visits children before their parents.
func walk(name string, visit func(dir string) error) error {
	roots, err := Roots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			if err != nil && !gone(err) {
				return err
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("walking cgroup %s of %s: %w", name, root, err)
		}
		for i := len(dirs) - 1; i >= 0; i-- {
			if err := visit(dirs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

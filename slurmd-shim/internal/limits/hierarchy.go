package limits

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/containerd/cgroups/v3"
	"github.com/moby/sys/mountinfo"
)

const (
	procCgroup = "/proc/self/cgroup"
	procMounts = "/proc/self/mountinfo"
)

// The controllers' managers of containerd/cgroups read below a fixed /sys/fs/cgroup and report usage, not
// the limits of ancestors; its parser of /proc/self/cgroup serves, the walk up the tree is our own.

// hierarchy is where one controller's files of a cgroup are.
type hierarchy struct {
	unified bool
	// levels are the directories of the cgroup and its visible ancestors, the cgroup first.
	levels  []string
	warning string
}

// findHierarchies returns, for each of the controllers cpu, cpuset and memory that a mounted hierarchy
// carries, where to read it. A hybrid host has some in v1 hierarchies and the rest in the unified one.
func findHierarchies(root fs.FS, cgroup string) (map[string]hierarchy, error) {
	v1, unified, err := ownCgroups(root)
	if err != nil {
		return nil, err
	}
	mounts, err := cgroupMounts(root)
	if err != nil {
		return nil, err
	}
	out := map[string]hierarchy{}
	for _, controller := range []string{"cpu", "cpuset", "memory"} {
		own, isV1 := v1[controller]
		if !isV1 {
			own = unified
		}
		candidates := slices.DeleteFunc(slices.Clone(mounts), func(m *mountinfo.Info) bool {
			if isV1 {
				return m.FSType != "cgroup" || !slices.Contains(strings.Split(m.VFSOptions, ","), controller)
			}
			return m.FSType != "cgroup2"
		})
		if len(candidates) == 0 {
			continue
		}
		h, err := locate(root, candidates, own, cgroup)
		if err != nil {
			return nil, err
		}
		h.unified = !isV1
		out[controller] = h
	}
	return out, nil
}

// ownCgroups returns the paths of /proc/self/cgroup by v1 controller, and the unified one.
func ownCgroups(root fs.FS) (map[string]string, string, error) {
	content, err := readFile(root, procCgroup)
	if err != nil {
		return nil, "", err
	}
	v1, unified, err := cgroups.ParseCgroupFromReaderUnified(strings.NewReader(content))
	if err != nil {
		return nil, "", fmt.Errorf("parse %s: %w", procCgroup, err)
	}
	return v1, unified, nil
}

// cgroupMounts returns the mounted cgroup hierarchies, the last mounted first: it hides the others.
func cgroupMounts(root fs.FS) ([]*mountinfo.Info, error) {
	content, err := readFile(root, procMounts)
	if err != nil {
		return nil, err
	}
	mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(content), mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", procMounts, err)
	}
	slices.Reverse(mounts)
	return mounts, nil
}

// locate finds the directory of the cgroup named own below one of the mounts.
//
// A mount shows the subtree at its Root. Without a cgroup namespace Root and own are both seen from the
// top of the hierarchy, and what remains of own below Root is the way down. With one, the mount is the
// namespace's own cgroup and own is "/". Where own leads nowhere (a mount that a runtime made in another
// namespace, "/../.." paths), the mount point is what is left: runtimes mount a container's own cgroup there.
func locate(root fs.FS, mounts []*mountinfo.Info, own, named string) (hierarchy, error) {
	if named != "" {
		return locateNamed(root, mounts[0], named)
	}
	for _, m := range mounts {
		rest, ok := below(own, m.Root)
		if ok && isDir(root, path.Join(m.Mountpoint, rest)) {
			return hierarchy{levels: levels(m.Mountpoint, rest)}, nil
		}
	}
	m := mounts[0]
	if !isDir(root, m.Mountpoint) {
		return hierarchy{}, fmt.Errorf("cgroup %s is not below the mount %s (of %s in %s), and that mount cannot be read", own, m.Mountpoint, m.Root, procMounts)
	}
	h := hierarchy{levels: levels(m.Mountpoint, "")}
	if own != "/" || strings.HasPrefix(m.Root, "/..") {
		h.warning = fmt.Sprintf("cgroup %s is not visible below %s: limits are those of the mount point, which may be an ancestor's", own, m.Mountpoint)
	}
	return h, nil
}

// locateNamed finds the cgroup that the caller named; it must exist.
func locateNamed(root fs.FS, m *mountinfo.Info, named string) (hierarchy, error) {
	if inMount, ok := below(named, m.Mountpoint); ok {
		named = inMount
	}
	rest := path.Join("/", named)
	if !isDir(root, path.Join(m.Mountpoint, rest)) {
		return hierarchy{}, fmt.Errorf("there is no cgroup %s below %s", rest, m.Mountpoint)
	}
	return hierarchy{levels: levels(m.Mountpoint, rest)}, nil
}

// below returns what remains of p below dir.
func below(p, dir string) (string, bool) {
	if dir == "/" {
		return p, !strings.HasPrefix(p, "/..")
	}
	rest, ok := strings.CutPrefix(p, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// levels returns mountpoint/rest and each of its parents down to the mount point.
func levels(mountpoint, rest string) []string {
	rest = path.Join("/", rest)
	out := []string{path.Join(mountpoint, rest)}
	for rest != "/" {
		rest = path.Dir(rest)
		out = append(out, path.Join(mountpoint, rest))
	}
	return out
}

func isDir(root fs.FS, dir string) bool {
	info, err := fs.Stat(root, strings.TrimPrefix(dir, "/"))
	return err == nil && info.IsDir()
}

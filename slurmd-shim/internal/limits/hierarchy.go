package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/containerd/cgroups/v3"
	"github.com/moby/sys/mountinfo"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
)

const (
	procCgroup = "/proc/self/cgroup"
	procMounts = "/proc/self/mountinfo"
	cgroupDir  = "/sys/fs/cgroup"
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
	cgroup = withoutMountpoint(cgroup, mounts)
	out := map[string]hierarchy{}
	found := cgroup == "" || cgroup == "/"
	for _, controller := range []string{"cpu", "cpuset", "memory"} {
		own, isV1 := v1[controller]
		if v1 == nil {
			isV1 = slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool { return carriesV1(m, controller) })
		}
		if own == "" {
			own = unified
		}
		candidates := slices.DeleteFunc(slices.Clone(mounts), func(m *mountinfo.Info) bool {
			if isV1 {
				return !carriesV1(m, controller)
			}
			return m.FSType != "cgroup2"
		})
		if len(candidates) == 0 {
			continue
		}
		var h hierarchy
		if cgroup != "" {
			exact := false
			h, exact = locateNamed(root, candidates, cgroup)
			found = found || exact
		} else if h, err = locate(root, candidates, own); errors.Is(err, fs.ErrNotExist) {
			continue // captured without it
		} else if err != nil {
			return nil, err
		}
		h.unified = !isV1
		out[controller] = h
	}
	if !found {
		return nil, fmt.Errorf("there is no cgroup %s below %s", cgroup, cgroupDir)
	}
	return out, nil
}

// withoutMountpoint returns the path of a cgroup from the top of its hierarchy, whichever mount it was seen in.
func withoutMountpoint(cgroup string, mounts []*mountinfo.Info) string {
	if cgroup == "" {
		return ""
	}
	longest := ""
	for _, m := range mounts {
		if _, ok := below(cgroup, m.Mountpoint); ok && len(m.Mountpoint) > len(longest) {
			longest = m.Mountpoint
		}
	}
	return path.Join("/", strings.TrimPrefix(cgroup, longest))
}

func carriesV1(m *mountinfo.Info, controller string) bool {
	return m.FSType == "cgroup" && slices.Contains(strings.Split(m.VFSOptions, ","), controller)
}

// ownCgroups returns the paths of /proc/self/cgroup by v1 controller, and the unified one.
//
// A machine without the file has no cgroups, or was captured without it; what is mounted then tells versions.
func ownCgroups(root fs.FS) (map[string]string, string, error) {
	content, err := kernel.ReadFile(root, procCgroup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "/", nil
	}
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
	content, err := kernel.ReadFile(root, procMounts)
	if errors.Is(err, fs.ErrNotExist) {
		return usualMounts(root), nil
	}
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

// usualMounts finds the hierarchies of a machine that was captured without its mounts where every
// distribution has them: below /sys/fs/cgroup, v1 in a directory per controller or per comma-separated list
// of controllers.
func usualMounts(root fs.FS) []*mountinfo.Info {
	var out []*mountinfo.Info
	for _, dir := range []string{cgroupDir, cgroupDir + "/unified"} {
		if _, err := fs.Stat(root, strings.TrimPrefix(dir+"/cgroup.controllers", "/")); err == nil {
			out = append(out, &mountinfo.Info{FSType: "cgroup2", Root: "/", Mountpoint: dir})
		}
	}
	below, err := fs.ReadDir(root, strings.TrimPrefix(cgroupDir, "/"))
	if err != nil || len(out) > 0 && out[0].Mountpoint == cgroupDir {
		return out
	}
	for _, entry := range below {
		dir := path.Join(cgroupDir, entry.Name())
		if kernel.IsDir(root, dir) {
			out = append(out, &mountinfo.Info{FSType: "cgroup", Root: "/", Mountpoint: dir, VFSOptions: entry.Name()})
		}
	}
	return out
}

// locate finds the directory of the cgroup named own below one of the mounts.
//
// A mount shows the subtree at its Root. Without a cgroup namespace Root and own are both seen from the
// top of the hierarchy, and what remains of own below Root is the way down. With one, the mount is the
// namespace's own cgroup and own is "/". Where own leads nowhere (a mount that a runtime made in another
// namespace, "/../.." paths), the mount point is what is left: runtimes mount a container's own cgroup there.
func locate(root fs.FS, mounts []*mountinfo.Info, own string) (hierarchy, error) {
	for _, m := range mounts {
		rest, ok := below(own, m.Root)
		if ok && kernel.IsDir(root, path.Join(m.Mountpoint, rest)) {
			return hierarchy{levels: levels(m.Mountpoint, rest)}, nil
		}
	}
	m := mounts[0]
	if _, err := fs.ReadDir(root, strings.TrimPrefix(m.Mountpoint, "/")); err != nil {
		return hierarchy{}, fmt.Errorf("cgroup %s is not below the mount %s (of %s in %s), and that mount cannot be read: %w", own, m.Mountpoint, m.Root, procMounts, err)
	}
	h := hierarchy{levels: levels(m.Mountpoint, "")}
	if own != "/" || strings.HasPrefix(m.Root, "/..") {
		h.warning = fmt.Sprintf("cgroup %s is not visible below %s: limits are those of the mount point, which may be an ancestor's", own, m.Mountpoint)
	}
	return h, nil
}

// locateNamed finds the cgroup that the caller named, or as much of its path as this hierarchy has: with v1 a
// process need not be in a cgroup of the same name everywhere. It tells whether the whole path is there.
func locateNamed(root fs.FS, mounts []*mountinfo.Info, named string) (hierarchy, bool) {
	for ancestor := named; ; ancestor = path.Dir(ancestor) {
		for _, m := range mounts {
			for _, rest := range []string{ancestor, strings.TrimPrefix(ancestor, m.Root)} {
				if kernel.IsDir(root, path.Join(m.Mountpoint, rest)) {
					return hierarchy{levels: levels(m.Mountpoint, rest)}, ancestor == named
				}
			}
		}
		if ancestor == "/" {
			return hierarchy{}, false
		}
	}
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

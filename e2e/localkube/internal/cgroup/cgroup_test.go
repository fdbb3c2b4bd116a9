package cgroup

import (
	"slices"
	"testing"
)

func TestParseRoots(t *testing.T) {
	const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw shared:10 - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
33 22 0:27 / /mnt/again rw shared:10 - cgroup cgroup rw,cpu
34 22 0:27 /pod /mnt/part rw shared:10 - cgroup cgroup rw,cpu
`
	want := []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"}
	if got := parseRoots(mountinfo); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

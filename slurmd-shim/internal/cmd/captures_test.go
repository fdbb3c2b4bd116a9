package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/testtree"
)

// captures are parts of /proc and /sys of real machines and of some that kernel and hwloc developers built. What
// slurmd -C says of each, in 24.11 and 26.05 alike, is in slurmd.txt; the end-to-end tests ask it again.
const captures = "testdata/captures"

// TestCapturesAgreeWithSlurmd: where slurmd's numbers fit together, ours are the same. Where they do not, because
// the machine is not regular, ours still do.
func TestCapturesAgreeWithSlurmd(t *testing.T) {
	said, err := os.ReadFile(filepath.Join(captures, "slurmd.txt"))
	require.NoError(t, err)
	consistent := 0
	for line := range strings.Lines(string(said)) {
		name, conf, _ := strings.Cut(strings.TrimSpace(line), " ")
		var cpus, boards, sockets, cores, threads int
		_, err := fmt.Sscanf(strings.TrimSpace(conf), "CPUs=%d Boards=%d SocketsPerBoard=%d CoresPerSocket=%d ThreadsPerCore=%d",
			&cpus, &boards, &sockets, &cores, &threads)
		require.NoError(t, err, line)
		t.Run(name, func(t *testing.T) {
			root := testtree.LoadTar(t, filepath.Join(captures, name+".tar.gz"))
			r, err := look(limits.Options{Root: root, Cgroup: "/"}, nodeconf.Options{})
			require.NoError(t, err)
			n := r.Node
			require.Equal(t, n.CPUs, n.Boards*n.SocketsPerBoard*n.CoresPerSocket*n.ThreadsPerCore)
			require.LessOrEqual(t, n.CPUs, r.Machine.Threads)
			require.LessOrEqual(t, n.Boards*n.SocketsPerBoard, r.Machine.Sockets)
			require.LessOrEqual(t, n.Boards*n.SocketsPerBoard*n.CoresPerSocket, r.Machine.Cores)
			if cpus == boards*sockets*cores*threads {
				consistent++
				require.Equal(t, []int{cpus, boards, sockets, cores, threads},
					[]int{n.CPUs, n.Boards, n.SocketsPerBoard, n.CoresPerSocket, n.ThreadsPerCore})
			}
		})
	}
	require.GreaterOrEqual(t, consistent, 20)
}

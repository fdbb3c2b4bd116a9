//go:build e2e

package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// captures are captured machines, and what slurmd -C says of each.
const captures = "../../slurmd-shim/internal/cmd/testdata/captures"

// ask unpacks a capture from standard input and asks slurmd and the shim about it. Without its x86 component hwloc
// reads nothing of the machine that it runs on.
const ask = `set -e; dir=$(mktemp -d); tar xzf - -C "$dir"
HWLOC_FSROOT=$dir HWLOC_COMPONENTS=-x86 SLURM_CONF=/dev/null slurmd -C 2>/dev/null | head -n 1
slurmd-shim inspect --root "$dir" --cgroup / -o json
rm -r "$dir"`

// accept makes a node of a shape, and prints how many CPUs slurmctld takes it to have: it corrects a number that
// does not fit.
const accept = `set -e; scontrol create NodeName=try State=FUTURE RealMemory=1 "$@"
scontrol --future --oneliner show node try | grep -o 'CPUTot=[0-9]*'
scontrol delete NodeName=try`

// TestSlurmdAgreesAboutCaptures: the real slurmd, of every version, still says of captured machines what the unit
// tests compare with, and the shim in the same image what slurmd says wherever slurmd's numbers fit together. And
// slurmctld takes what the shim says of every machine as it is.
func TestSlurmdAgreesAboutCaptures(t *testing.T) {
	said, err := os.ReadFile(filepath.Join(captures, "slurmd.txt"))
	require.NoError(t, err)
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(1))
		for line := range strings.Lines(string(said)) {
			name, want, _ := strings.Cut(strings.TrimSpace(line), " ")
			want = strings.TrimSpace(want)
			archive, err := os.ReadFile(filepath.Join(captures, name+".tar.gz"))
			require.NoError(e, err)
			out, err := c.TryIn(string(archive), "bash", "-c", ask)
			require.NoError(e, err, name)
			slurmd, report, _ := strings.Cut(out, "\n")
			require.Contains(e, slurmd, want, name)

			var shim struct {
				Node struct{ CPUs, Boards, SocketsPerBoard, CoresPerSocket, ThreadsPerCore int }
			}
			require.NoError(e, json.Unmarshal([]byte(report), &shim), "%s: %s", name, report)
			n := shim.Node
			told := fmt.Sprintf(shape5, n.CPUs, n.Boards, n.SocketsPerBoard, n.CoresPerSocket, n.ThreadsPerCore)
			taken := c.Run(append([]string{"bash", "-c", accept, "accept"}, strings.Fields(told)...)...)
			require.Equal(e, fmt.Sprintf("CPUTot=%d", n.CPUs), taken, name)
			var cpus, boards, sockets, cores, threads int
			_, err = fmt.Sscanf(want, shape5, &cpus, &boards, &sockets, &cores, &threads)
			require.NoError(e, err, want)
			if cpus == boards*sockets*cores*threads {
				require.Equal(e, want, told, name)
			}
		}
	})
}

const shape5 = "CPUs=%d Boards=%d SocketsPerBoard=%d CoresPerSocket=%d ThreadsPerCore=%d"

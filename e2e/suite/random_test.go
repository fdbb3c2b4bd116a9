//go:build e2e

package suite

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// randomMachines is how many machines each Slurm is tried with.
const randomMachines = 25

// machine is what a random machine grants.
type machine struct {
	files map[string]string
	// granted are the CPUs that may be used, quota how many of them at a time, memory how much there may be, in MiB.
	granted []int
	quota   float64
	memory  int64
}

// randomMachine has sockets, cores and threads that may differ from each other, CPUs that are offline, and a pod with
// some of them.
func randomMachine(r *rand.Rand) machine {
	m := machine{files: map[string]string{}}
	var all []int
	packages, cores := map[int][]int{}, map[int][]int{}
	threads, core := 1+r.IntN(2), 0
	for pack := range 1 + r.IntN(3) {
		for range 1 + r.IntN(4) {
			for range threads {
				if cpu := len(all); r.IntN(12) > 0 || cpu == 0 {
					packages[pack] = append(packages[pack], cpu)
					cores[core] = append(cores[core], cpu)
				}
				all = append(all, len(all))
			}
			core++
		}
	}
	var online []int
	for _, members := range packages {
		for _, cpu := range members {
			m.files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/package_cpus", cpu)] = mask(members)
			online = append(online, cpu)
		}
	}
	for _, members := range cores {
		for _, cpu := range members {
			m.files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus", cpu)] = mask(members)
		}
	}
	slices.Sort(online)
	m.granted, m.quota, m.memory = online, float64(len(online)), 64+r.Int64N(8000)
	m.files["sys/devices/system/cpu/online"] = list(online)
	m.files["proc/meminfo"] = fmt.Sprintf("MemTotal: %d kB\n", m.memory<<10)
	const pod = "sys/fs/cgroup/pod/"
	m.files["sys/fs/cgroup/cgroup.controllers"], m.files[pod+"cgroup.controllers"] = "cpu cpuset memory", "cpu cpuset memory"
	m.files[pod+"cpu.max"], m.files[pod+"memory.max"] = "max 100000", "max"
	if r.IntN(2) == 0 {
		m.granted = slices.DeleteFunc(slices.Clone(online), func(int) bool { return r.IntN(3) == 0 })
		if len(m.granted) == 0 {
			m.granted = online[:1]
		}
		m.files[pod+"cpuset.cpus.effective"] = list(m.granted)
	}
	if r.IntN(2) == 0 {
		period := 10000 * (1 + r.IntN(20))
		quota := int(float64(period) * (0.5 + r.Float64()*float64(len(online))))
		m.quota = float64(quota) / float64(period)
		m.files[pod+"cpu.max"] = fmt.Sprintf("%d %d", quota, period)
	}
	if r.IntN(2) == 0 {
		limit := 32 + r.Int64N(8000)
		m.files[pod+"memory.max"] = strconv.FormatInt(limit<<20, 10)
		m.memory = min(m.memory, limit)
	}
	return m
}

func list(cpus []int) string {
	var words []string
	for _, cpu := range cpus {
		words = append(words, strconv.Itoa(cpu))
	}
	return strings.Join(words, ",")
}

func mask(cpus []int) string {
	var bits uint64
	for _, cpu := range cpus {
		bits |= 1 << cpu
	}
	return strconv.FormatUint(bits, 16)
}

func (m machine) archive(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range m.files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.String()
}

// register lets the real slurmd register a node that the shim has derived, on a port and with files of its own, and
// prints how slurmctld takes it.
const register = `dir=$(mktemp -d); tar xf - -C "$dir"
slurmd-shim inspect --root "$dir" --cgroup /pod -o json > "$dir/report" || exit
cat "$dir/report"; echo
n() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" "$dir/report" | head -n 1; }
cp /run/slurm/conf/cgroup.conf "$dir"; mkdir "$dir/spool"
sed "s|^SlurmdPidFile=.*|SlurmdPidFile=$dir/pid|; s|^SlurmdSpoolDir=.*|SlurmdSpoolDir=$dir/spool|" /run/slurm/conf/slurm.conf > "$dir/slurm.conf"
slurmd -D -Z -N "$1" -f "$dir/slurm.conf" --conf "CPUs=$(n cpus) Boards=$(n boards) SocketsPerBoard=$(n socketsPerBoard) \
CoresPerSocket=$(n coresPerSocket) ThreadsPerCore=$(n threadsPerCore) RealMemory=$(n realMemoryMB) Port=7001 State=DRAIN Reason=try" > "$dir/log" 2>&1 &
for i in $(seq 100); do scontrol --oneliner show node "$1" && break; sleep 0.1; done > "$dir/node" 2>/dev/null
cat "$dir/node"; test -s "$dir/node" || cat "$dir/log" >&2
kill %1; wait; scontrol delete NodeName="$1"; rm -r "$dir"`

// TestRandomMachines: of whatever a machine grants, the node never promises more, and the real slurmd and slurmctld take
// it as it is. SEED repeats a run.
func TestRandomMachines(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(1))
		r := rand.New(rand.NewPCG(seed, 0))
		usable := 0
		for i := range randomMachines {
			m := randomMachine(r)
			name := fmt.Sprintf("try%d", i)
			out, err := c.Exec(c.Ctx, c.Node("cpu-0"), strings.NewReader(m.archive(e.T)), "bash", "-c", register, "register", name)
			if err != nil && (m.quota < 1 || m.memory < 64) {
				require.ErrorContains(e, err, "no usable node")
				continue
			}
			require.NoError(e, err, "machine %d: %v", i, m.files)
			usable++
			m.check(e, i, out)
		}
		require.Greater(e, usable, randomMachines/2)
	})
}

// check compares what slurmctld took with what was granted.
func (m machine) check(e *harness.Env, i int, out string) {
	e.Helper()
	end := strings.LastIndex(out, "}") + 1
	var shim struct {
		Node struct {
			CPUs, Boards, SocketsPerBoard, CoresPerSocket, ThreadsPerCore int
			RealMemoryMB                                                  int64
		}
	}
	require.NoError(e, json.Unmarshal([]byte(out[:end]), &shim), out)
	n := shim.Node
	require.LessOrEqual(e, n.CPUs, len(m.granted), "machine %d: %v", i, m.files)
	require.LessOrEqual(e, float64(n.CPUs), m.quota, "machine %d: %v", i, m.files)
	require.LessOrEqual(e, n.RealMemoryMB, m.memory, "machine %d: %v", i, m.files)
	require.Equal(e, n.CPUs, n.Boards*n.SocketsPerBoard*n.CoresPerSocket*n.ThreadsPerCore)
	for _, field := range []string{
		fmt.Sprintf("CPUTot=%d", n.CPUs), fmt.Sprintf("Sockets=%d", n.SocketsPerBoard), fmt.Sprintf("CoresPerSocket=%d", n.CoresPerSocket),
		fmt.Sprintf("ThreadsPerCore=%d", n.ThreadsPerCore), fmt.Sprintf("RealMemory=%d", n.RealMemoryMB), "State=IDLE+DRAIN+DYNAMIC_NORM",
	} {
		require.Contains(e, out[end:], " "+field+" ", "machine %d: %v", i, m.files)
	}
}

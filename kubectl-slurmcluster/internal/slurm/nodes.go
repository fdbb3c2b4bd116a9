package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// DataParser asks for the newest shape of Slurm's JSON that all supported versions (24.11 to 26.05) can write.
// Patterns such as %j are expanded in it.
const DataParser = "--json=v0.0.42"

// Node is a node as slurmctld tells it.
type Node struct {
	Name string `json:"name"`
	// States is a base state (IDLE, ALLOCATED, MIXED, DOWN, ...) followed by flags (DRAIN, ...).
	States          []string `json:"states"`
	Reason          string   `json:"reason,omitempty"`
	CPUs            int      `json:"cpus"`
	AllocatedCPUs   int      `json:"allocatedCPUs"`
	MemoryMB        int64    `json:"memoryMB"`
	AllocatedMemory int64    `json:"allocatedMemoryMB"`
	// Load is that of its machine.
	Load           float64      `json:"load"`
	Boards         int          `json:"boards"`
	Sockets        int          `json:"sockets"`
	CoresPerSocket int          `json:"coresPerSocket"`
	ThreadsPerCore int          `json:"threadsPerCore"`
	Features       []string     `json:"features"`
	Gres           string       `json:"gres,omitempty"`
	GresUsed       string       `json:"gresUsed,omitempty"`
	Partitions     []string     `json:"partitions"`
	Address        string       `json:"address,omitempty"`
	Version        string       `json:"version,omitempty"`
	Started        *metav1.Time `json:"slurmdStarted,omitempty"`
	// Extra is a line of text that the node's own pod may write.
	Extra string `json:"extra,omitempty"`
}

// node is Slurm's form of it.
type node struct {
	Name       string   `json:"name"`
	State      []string `json:"state"`
	Reason     string   `json:"reason"`
	CPUs       int      `json:"cpus"`
	AllocCPUs  int      `json:"alloc_cpus"`
	RealMemory int64    `json:"real_memory"`
	AllocMem   int64    `json:"alloc_memory"`
	// CPULoad is in hundredths.
	CPULoad    int64    `json:"cpu_load"`
	Boards     int      `json:"boards"`
	Sockets    int      `json:"sockets"`
	Cores      int      `json:"cores"`
	Threads    int      `json:"threads"`
	Features   []string `json:"features"`
	Gres       string   `json:"gres"`
	GresUsed   string   `json:"gres_used"`
	Partitions []string `json:"partitions"`
	Address    string   `json:"address"`
	Version    string   `json:"version"`
	Started    number64 `json:"slurmd_start_time"`
	Extra      string   `json:"extra"`
}

type number64 struct {
	Set    bool  `json:"set"`
	Number int64 `json:"number"`
}

// Nodes lists the nodes that slurmctld knows, or that of a name; a name that it does not know gives none.
func Nodes(ctx context.Context, cluster *pods.Cluster, name ...string) ([]Node, error) {
	command := slices.Concat([]string{"scontrol", "show", "nodes"}, name, []string{DataParser})
	text, err := cluster.Output(ctx, cluster.Controller(), command...)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Nodes []node `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("reading what scontrol says about nodes: %w", err)
	}
	nodes := make([]Node, 0, len(answer.Nodes))
	for _, n := range answer.Nodes {
		nodes = append(nodes, n.plain())
	}
	slices.SortFunc(nodes, func(a, b Node) int { return CompareNames(a.Name, b.Name) })
	return nodes, nil
}

func (n *node) plain() Node {
	plain := Node{
		Name: n.Name, States: n.State, Reason: reason(n.Reason), CPUs: n.CPUs, AllocatedCPUs: n.AllocCPUs,
		MemoryMB: n.RealMemory, AllocatedMemory: n.AllocMem, Load: float64(n.CPULoad) / 100,
		Boards: n.Boards, Sockets: n.Sockets, CoresPerSocket: n.Cores, ThreadsPerCore: n.Threads,
		Features: n.Features, Gres: n.Gres, GresUsed: n.GresUsed, Partitions: n.Partitions,
		Address: n.Address, Version: n.Version, Extra: n.Extra,
	}
	if n.Started.Set && n.Started.Number > 0 {
		plain.Started = &metav1.Time{Time: time.Unix(n.Started.Number, 0).UTC()}
	}
	return plain
}

// silent are words of a node's state that say how Slurm came to know it, not how it is.
var silent = []string{"DRAIN", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "CLOUD"}

// State is the node's state in a word, with what else is to say about it behind a '+'.
func (n *Node) State() string {
	if len(n.States) == 0 {
		return "unknown"
	}
	words := []string{strings.ToLower(n.States[0])}
	if slices.Contains(n.States, "DRAIN") {
		switch {
		case n.States[0] == "DOWN":
			words = append(words, "drain")
		case n.States[0] == "ALLOCATED", n.States[0] == "MIXED", slices.Contains(n.States, "COMPLETING"):
			words[0] = "draining"
		default:
			words[0] = "drained"
		}
	}
	for _, flag := range n.States[1:] {
		if !slices.Contains(silent, flag) {
			words = append(words, strings.ToLower(flag))
		}
	}
	return strings.Join(words, "+")
}

// CompareNames puts cpu-2 before cpu-10.
func CompareNames(a, b string) int {
	setA, setB := strings.TrimRight(a, digits), strings.TrimRight(b, digits)
	if setA != setB {
		return strings.Compare(setA, setB)
	}
	// Numbers have no leading zeros: the longer is the larger.
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

const digits = "0123456789"

// reason leaves out what stands for none: Slurm keeps a reason until it is given another.
func reason(text string) string {
	if text == "none" {
		return ""
	}
	return text
}

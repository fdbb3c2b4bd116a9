package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// What may stand in a node's line, so that no value can begin another one.
var (
	nodeName    = pattern.New(`^[a-z][-a-z0-9]{0,40}$`)
	nodeFeature = pattern.New(`^[A-Za-z0-9][-A-Za-z0-9_.]{0,40}$`)
	nodeGres    = pattern.New(`^([a-z][a-z0-9_]*:[0-9]+(,|$))*$`)
)

// createTime is how long slurmctld may take to make nodes.
const createTime = 20 * time.Second

// line is what scontrol makes nodes from. Such a node has a share of a machine's CPUs, none in particular.
func line(n contract.CloudNodes) ([]string, error) {
	for _, name := range n.Names {
		if !nodeName().MatchString(name) {
			return nil, fmt.Errorf("%q is no name of a node", name)
		}
	}
	for _, feature := range n.Features {
		if !nodeFeature().MatchString(feature) {
			return nil, fmt.Errorf("%q is no feature of a node", feature)
		}
	}
	if len(n.Names) == 0 || len(n.Features) == 0 || n.CPUs < 1 || n.MemoryMB < 1 || !nodeGres().MatchString(n.Gres) {
		return nil, fmt.Errorf("expected names, features, CPUs, memory and a GRES such as gpu:2, got %+v", n)
	}
	args := []string{
		"NodeName=" + strings.Join(n.Names, ","), fmt.Sprintf("CPUs=%d", n.CPUs), "Boards=1", "SocketsPerBoard=1",
		fmt.Sprintf("CoresPerSocket=%d", n.CPUs), "ThreadsPerCore=1", fmt.Sprintf("RealMemory=%d", n.MemoryMB),
		"Feature=" + strings.Join(n.Features, ","), "State=CLOUD",
	}
	if n.Gres != "" {
		args = append(args, "Gres="+n.Gres)
	}
	return args, nil
}

// createNodes makes nodes that Slurm powers up when jobs need them.
func (a *Agent) createNodes(ctx context.Context, n contract.CloudNodes) error {
	args, err := line(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	_, err = a.slurm(ctx, a.Scontrol, append([]string{"create"}, args...)...)
	return err
}

func (a *Agent) serveNodes(w http.ResponseWriter, r *http.Request) {
	var n contract.CloudNodes
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&n)
	if err == nil {
		err = a.createNodes(r.Context(), n)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

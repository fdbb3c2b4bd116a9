package cluster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cgroup"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/control"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// Status is what `localkube status` shows.
type Status struct {
	Running    bool
	InitPID    int
	Components []control.Component // with pids as the host sees them
	NodeReady  bool
	Node       string
}

// Healthy reports whether everything is as it should be.
func (s Status) Healthy() bool { return s.Running && s.NodeReady && s.Unhealthy() == nil }

// Unhealthy returns the first component that is not healthy, if any.
func (s Status) Unhealthy() *control.Component {
	for i := range s.Components {
		if !s.Components[i].Healthy {
			return &s.Components[i]
		}
	}
	return nil
}

// Status asks pid 1 and the API server.
func (c Cluster) Status(ctx context.Context) (Status, error) {
	id, alive := c.Init()
	if !alive {
		return Status{}, nil
	}
	status := Status{Running: true, InitPID: id.PID}
	components, err := c.Control().Status(ctx)
	if err != nil {
		return status, err
	}
	status.Components = onHost(components)
	status.NodeReady, status.Node = c.nodeReady(ctx)
	return status, nil
}

// nodeReady also says why, when the node is not ready.
func (c Cluster) nodeReady(ctx context.Context) (bool, string) {
	client, err := c.Client()
	if err != nil {
		return false, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	node, err := client.CoreV1().Nodes().Get(ctx, layout.NodeName, metav1.GetOptions{})
	if err != nil {
		return false, err.Error()
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue, condition.Message
		}
	}
	return false, "the kubelet has not reported yet"
}

// onHost translates pids of the cluster's namespace to the host's.
func onHost(components []control.Component) []control.Component {
	pids, err := cgroup.Procs(layout.Cgroup)
	if err != nil {
		return components
	}
	host := map[int]int{}
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		// One namespace below the host's is the daemons'; pods are deeper.
		if chain := pidChain(string(status)); len(chain) == 2 {
			host[chain[1]] = chain[0]
		}
	}
	for i := range components {
		components[i].PID = host[components[i].PID]
	}
	return components
}

// pidChain reads a process's pids, from the outermost namespace to its own.
func pidChain(status string) []int {
	for line := range strings.Lines(status) {
		list, found := strings.CutPrefix(line, "NSpid:")
		if !found {
			continue
		}
		var chain []int
		for _, field := range strings.Fields(list) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return nil
			}
			chain = append(chain, pid)
		}
		return chain
	}
	return nil
}

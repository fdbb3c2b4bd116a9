package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
)

// ErrNotRunning says what to do about it.
var ErrNotRunning = errors.New("the cluster is not running: start it with `localkube up`")

// Enter returns a command that runs within the cluster's namespaces. It dies
// with the cluster.
func (c Cluster) Enter(ctx context.Context, args ...string) (*exec.Cmd, error) {
	id, alive := c.Init()
	if !alive {
		return nil, ErrNotRunning
	}
	nsenter := append([]string{
		"--target", strconv.Itoa(id.PID), "--mount", "--uts", "--ipc", "--net", "--pid", "--wdns=/", "--",
	}, args...)
	command := exec.CommandContext(ctx, "nsenter", nsenter...)
	command.Env = append(os.Environ(),
		"PATH="+c.Paths.Bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"KUBECONFIG="+c.Paths.AdminKubeconfig(),
		"CONTAINERD_ADDRESS="+c.Paths.Containerd(),
		"CONTAINERD_NAMESPACE="+containerdNamespace,
	)
	return command, nil
}

//go:build e2e

package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kill kills a process of a container with SIGKILL, by its program's name. The first process of a container
// cannot be killed from inside, so it is done from this machine; where Kubernetes runs elsewhere, the test
// is skipped.
func (e *Env) Kill(pod, container, program string) {
	e.Helper()
	o := &corev1.Pod{}
	// The kubelet tells of a container a moment after that has registered with slurmctld.
	e.Eventually(10*time.Second, "container "+container+" of pod "+pod+" runs", func() error {
		if err := e.Get(e.Ctx, client.ObjectKey{Namespace: e.Namespace, Name: pod}, o); err != nil {
			return err
		}
		if containerID(o, container) == "" {
			return errors.New("the kubelet has not told of it")
		}
		return nil
	})
	e.KillIn(o, container, program)
}

// KillIn is Kill in a pod of any namespace.
func (e *Env) KillIn(pod *corev1.Pod, container, program string) {
	e.Helper()
	id := containerID(pod, container)
	require.NotEmpty(e, id, "container %s of pod %s does not run", container, pod.Name)
	pids, err := processes(id, program)
	require.NoError(e, err)
	if len(pids) == 0 {
		all, err := processes(id, "")
		require.NoError(e, err)
		require.Empty(e, all, "container %s of pod %s has processes, but none is %s", container, pod.Name, program)
		require.False(e, e.IsLocal(), "container %s of pod %s has just ended", container, pod.Name)
		e.Skip("the processes of this Kubernetes' pods are not on this machine")
	}
	for _, pid := range pids {
		require.NoError(e, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// TryKillIn is KillIn for a container that may end at any time: without its process, nothing is done.
func (e *Env) TryKillIn(pod *corev1.Pod, container, program string) {
	e.Helper()
	id := containerID(pod, container)
	if id == "" {
		return
	}
	pids, err := processes(id, program)
	require.NoError(e, err)
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			require.NoError(e, err)
		}
	}
}

// Statuses are those of all containers of a pod, sidecars first.
func Statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func containerID(pod *corev1.Pod, container string) string {
	for _, c := range Statuses(pod) {
		if _, id, ok := strings.Cut(c.ContainerID, "://"); ok && c.Name == container {
			return id
		}
	}
	return ""
}

// processes finds the processes of this machine that are in a container's cgroup and have a program's name,
// or any if that is empty.
func processes(container, program string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, fmt.Errorf("looking for processes: %w", err)
	}
	var pids []int
	for _, file := range files {
		cgroup, err := os.ReadFile(file)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for processes: %w", err)
		}
		if !strings.Contains(string(cgroup), container) {
			continue
		}
		directory := filepath.Dir(file)
		name, err := os.ReadFile(filepath.Join(directory, "comm"))
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking for processes: %w", err)
		}
		pid, err := strconv.Atoi(filepath.Base(directory))
		if err != nil {
			return nil, fmt.Errorf("looking for processes: %w", err)
		}
		// Debian's programs are alternatives called slurmctld-wlm and so on; slurmctld is known by that name after it has
		// started itself anew for a configuration.
		if program == "" || strings.TrimSuffix(strings.TrimSpace(string(name)), "-wlm") == program {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// gone tells whether a process ended while it was looked at.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

package node

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper collects every child of pid 1: components, and orphans that came to
// it. It alone waits, so nothing else may (such as exec.Cmd.Wait).
type reaper struct {
	mu      sync.Mutex
	waiting map[int]chan unix.WaitStatus
	started chan struct{}
}

func newReaper() *reaper {
	return &reaper{waiting: map[int]chan unix.WaitStatus{}, started: make(chan struct{}, 1)}
}

func (r *reaper) run() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			<-r.started
		case err == nil:
			r.dispatch(pid, status)
		}
	}
}

func (r *reaper) dispatch(pid int, status unix.WaitStatus) {
	// The lock also waits for a start that has forked but not yet registered.
	r.mu.Lock()
	defer r.mu.Unlock()
	if exited, ours := r.waiting[pid]; ours {
		exited <- status
		delete(r.waiting, pid)
	}
}

// start runs a program with its output in a file, and tells when it exited.
func (r *reaper) start(path string, args []string, log string) (int, <-chan unix.WaitStatus, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("opening the log: %w", err)
	}
	defer output.Close()
	input, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer input.Close()

	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(),
		Files: []uintptr{input.Fd(), output.Fd(), output.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("starting %s: %w", path, err)
	}
	exited := make(chan unix.WaitStatus, 1)
	r.waiting[pid] = exited
	select {
	case r.started <- struct{}{}:
	default:
	}
	return pid, exited, nil
}

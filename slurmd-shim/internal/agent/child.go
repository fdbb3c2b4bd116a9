package agent

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

const (
	// tailLines and tailBytes bound slurmctld's last words; the kubelet keeps 4096 bytes.
	tailLines = 20
	tailBytes = 3584
)

// child is a running slurmctld.
type child struct {
	cmd  *exec.Cmd
	tail *tail
	// done gets the result of Wait, once.
	done chan error
}

func startChild(argv, env []string) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), tail: &tail{}, done: make(chan error, 1)}
	c.cmd.Env = env
	c.cmd.Stdout = os.Stdout
	c.cmd.Stderr = io.MultiWriter(os.Stderr, c.tail)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	go func() { c.done <- c.cmd.Wait() }()
	return c, nil
}

// signal sends s; a process that has just ended needs none.
func (c *child) signal(log *slog.Logger, s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil {
		log.Info("slurmctld has ended before a signal reached it", "signal", s.String(), "error", err)
	}
}

// killedBy says whether the child, which has ended, died of s.
func (c *child) killedBy(s syscall.Signal) bool {
	ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == s
}

// tail keeps the last lines that were written to it.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(t.part+string(p), "\n")
	t.part = lines[len(lines)-1]
	t.part = t.part[max(0, len(t.part)-tailBytes):]
	t.lines = append(t.lines, lines[:len(lines)-1]...)
	t.lines = t.lines[max(0, len(t.lines)-tailLines):]
	return len(p), nil
}

// String returns the last lines, at most tailBytes of them.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.TrimSpace(strings.Join(append(t.lines[:len(t.lines):len(t.lines)], t.part), "\n"))
	return s[max(0, len(s)-tailBytes):]
}

// complaints returns the fatal error at the end and the errors just before it, which say more; without a
// fatal error, the last line.
func (t *tail) complaints() string {
	lines := strings.Split(t.String(), "\n")
	first := len(lines) - 1
	severity := func(line string) string {
		if m := speaker().FindStringSubmatch(line); m != nil {
			return m[1]
		}
		return ""
	}
	if severity(lines[first]) == "fatal" {
		for first > 0 && severity(lines[first-1]) == "error" {
			first--
		}
	}
	return strings.Join(lines[first:], "\n")
}

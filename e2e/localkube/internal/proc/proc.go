// Package proc names processes so that a recycled pid is never mistaken for
// the process that once had it.
package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ID is a process: its pid and when, in clock ticks since boot, it started.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Find returns the ID of a living process.
func Find(pid int) (ID, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ID{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	state, start, err := parseStat(string(data))
	if err != nil {
		return ID{}, fmt.Errorf("looking up process %d: %w", pid, err)
	}
	if state == "Z" || state == "X" {
		return ID{}, fmt.Errorf("process %d is dead: %w", pid, os.ErrProcessDone)
	}
	return ID{PID: pid, Start: start}, nil
}

// parseStat reads state and start time from /proc/PID/stat. The second field,
// the command, may itself contain spaces and parentheses.
func parseStat(stat string) (state string, start uint64, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return "", 0, errors.New("no command in its stat file")
	}
	fields := strings.Fields(stat[end+1:])
	const startField = 22 - 3 // field 22 of the line; these begin at field 3
	if len(fields) <= startField {
		return "", 0, fmt.Errorf("only %d fields in its stat file", len(fields))
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	return fields[0], start, err
}

// Alive reports whether that very process still runs.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	now, err := Find(id.PID)
	return err == nil && now == id
}

// Kill kills that very process and waits until it is gone. It is no error
// when it is gone already.
func (id ID) Kill(timeout time.Duration) error {
	if id.PID <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	// Only now, with the pidfd open, can the pid not change hands any more.
	if !id.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("killing process %d: %w", id.PID, err)
	}
	return id.waitGone(fd, timeout)
}

func (id ID) waitGone(pidfd int, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("process %d did not die within %s", id.PID, timeout)
		}
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(left.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for process %d: %w", id.PID, err)
		}
		if n > 0 {
			return nil
		}
	}
}

// Package scontrol asks slurmctld about one node, and tells it, by way of Slurm's scontrol command, which slurmd's uid
// may use for everything.
package scontrol

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answerTime is how long slurmctld may take to answer.
const answerTime = 10 * time.Second

// ErrGone says that Slurm does not know the node.
var ErrGone = errors.New("slurmctld does not know this node")

// Known is a node as slurmctld knows it.
type Known struct {
	CPUs         int
	RealMemoryMB int64
	// Busy tells whether it runs something.
	Busy bool
	// Draining tells whether it takes no new jobs.
	Draining bool
	// Power tells whether Slurm powers it up or down, or has done the latter.
	Power bool
}

// Node is a node of Slurm's.
type Node struct {
	// Command is scontrol.
	Command string
	// Name is the name of the node.
	Name string
}

// Show returns the node. The error wraps ErrGone if there is none.
func (s Node) Show(ctx context.Context) (Known, error) {
	out, err := s.run(ctx, "show", "node", "--oneliner", s.Name)
	if err != nil {
		return Known{}, err
	}
	return parse(out)
}

// parse reads the line that scontrol shows of a node. What people may have written, such as a reason, stands at its
// end, so the first field of each name counts.
func parse(line string) (Known, error) {
	fields := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		name, value, _ := strings.Cut(word, "=")
		if _, seen := fields[name]; !seen {
			fields[name] = value
		}
	}
	var k Known
	var errCPUs, errMemory error
	k.CPUs, errCPUs = strconv.Atoi(fields["CPUTot"])
	k.RealMemoryMB, errMemory = strconv.ParseInt(fields["RealMemory"], 10, 64)
	base, flags, _ := strings.Cut(fields["State"], "+")
	base = strings.TrimRight(base, "*~#!%$@^-") // signs of how Slurm hears of it
	if errCPUs != nil || errMemory != nil || base == "" {
		return Known{}, fmt.Errorf("scontrol shows no CPUTot, RealMemory and State: %s", line)
	}
	k.Draining = slices.Contains(strings.Split(flags, "+"), "DRAIN")
	k.Power = strings.Contains(flags, "POWER")
	k.Busy = base != "IDLE" && base != "DOWN" || strings.Contains(flags, "COMPLETING")
	return k, nil
}

// Say writes a word to the operator on the node; an empty one takes it back.
func (s Node) Say(ctx context.Context, word string) error {
	_, err := s.run(ctx, "update", "NodeName="+s.Name, "Extra="+word)
	return err
}

// Drain lets the node take no new jobs.
func (s Node) Drain(ctx context.Context, reason string) error {
	_, err := s.run(ctx, "update", "NodeName="+s.Name, "State=DRAIN", "Reason="+reason)
	return err
}

func (s Node) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.Command, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	switch {
	case err == nil:
		return text, nil
	case strings.Contains(text, "not found") || strings.Contains(text, "Invalid node name"):
		return "", ErrGone
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("scontrol %s: no answer in %s", args[0], answerTime)
	}
	return "", fmt.Errorf("scontrol %s: %w: %s", args[0], err, text)
}

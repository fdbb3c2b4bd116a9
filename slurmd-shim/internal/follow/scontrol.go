package follow

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// answerTime is how long slurmctld may take to answer.
const answerTime = 10 * time.Second

// Scontrol is Slurm by way of its scontrol command, which slurmd's uid may use for everything.
type Scontrol struct {
	// Command is scontrol.
	Command string
	// Node is the name of the node.
	Node string
}

// Show implements Slurm.
func (s Scontrol) Show(ctx context.Context) (Known, error) {
	out, err := s.run(ctx, "show", "node", "--oneliner", s.Node)
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
	k.Busy = base != "IDLE" && base != "DOWN" || strings.Contains(flags, "COMPLETING")
	return k, nil
}

// Say implements Slurm.
func (s Scontrol) Say(ctx context.Context, word string) error {
	_, err := s.run(ctx, "update", "NodeName="+s.Node, "Extra="+word)
	return err
}

func (s Scontrol) run(ctx context.Context, args ...string) (string, error) {
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

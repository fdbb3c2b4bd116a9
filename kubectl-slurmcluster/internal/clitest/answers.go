package clitest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// Answers is a podexec.Runner whose commands print what stands under the words that they contain. The longest words
// count. It fails for others.
type Answers struct {
	mu   sync.Mutex
	Text map[string]string
	// Asked are the commands, with their pods in front.
	Asked []string
}

// Run implements podexec.Runner.
func (a *Answers) Run(_ context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
	line := strings.Join(command, " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Asked = append(a.Asked, target.Pod+": "+line)
	found, longest := "", -1
	for words, text := range a.Text {
		if strings.Contains(line, words) && len(words) > longest {
			found, longest = text, len(words)
		}
	}
	if longest < 0 {
		return fmt.Errorf("unexpected command: %s", line)
	}
	_, err := io.WriteString(streams.Out, found)
	return err
}

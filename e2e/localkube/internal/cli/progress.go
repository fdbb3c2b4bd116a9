package cli

import (
	"fmt"
	"io"
	"time"
)

// heartbeat is how often a long step says that it is still at work.
const heartbeat = 15 * time.Second

// progress shows one line for each step, with the time it took.
type progress struct {
	out   io.Writer
	every time.Duration
}

func newProgress(out io.Writer) progress { return progress{out: out, every: heartbeat} }

// step does one piece of work and shows it.
func (p progress) step(name string, do func() error) error {
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- do() }()
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			verdict := "ok"
			if err != nil {
				verdict = "FAILED"
			}
			fmt.Fprintf(p.out, "%-32s %-6s %7s\n", name, verdict, elapsed(began))
			return err
		case <-ticker.C:
			fmt.Fprintf(p.out, "%-32s ...    %7s\n", name, elapsed(began))
		}
	}
}

func elapsed(since time.Time) time.Duration { return time.Since(since).Round(100 * time.Millisecond) }

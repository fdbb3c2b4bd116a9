// Package progress tells a person what is being waited for: on a terminal in one line that is redrawn,
// elsewhere in a line for every change.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/term"
)

const (
	width       = 80
	clearToEnd  = "\x1b[K"
	startOfLine = "\r"
)

// Line is the line that is redrawn.
type Line struct {
	out      io.Writer
	terminal bool
	width    int
	last     string
}

// New returns a line on out.
func New(out io.Writer) *Line {
	l := &Line{out: out, terminal: printers.IsTerminal(out), width: width}
	if size := (term.TTY{Out: out}).GetSize(); size != nil && size.Width > 1 {
		l.width = min(width, int(size.Width))
	}
	return l
}

// Update shows text, unless it is there already.
func (l *Line) Update(text string) {
	if text == l.last {
		return
	}
	l.last = text
	if !l.terminal {
		l.print(text, "\n")
		return
	}
	// A line that wraps could not be redrawn.
	l.print(startOfLine, Truncate(text, l.width-1), clearToEnd)
}

// Clear removes the line from a terminal, before something else is printed.
func (l *Line) Clear() {
	if l.terminal && l.last != "" {
		l.print(startOfLine, clearToEnd)
	}
	l.last = ""
}

// print ignores errors: nothing should fail because nobody watches.
func (l *Line) print(parts ...string) {
	_, _ = io.WriteString(l.out, strings.Join(parts, ""))
}

// Truncate cuts text to the given number of characters.
func Truncate(text string, characters int) string {
	runes := []rune(text)
	if len(runes) <= characters {
		return text
	}
	return string(runes[:characters-3]) + "..."
}

// Elapsed is the time since start, as people read it.
func Elapsed(start time.Time) string {
	d := time.Since(start)
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Count is a number with its noun.
func Count(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package cp

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

const (
	// quiet is how long a copy takes before there is something to say about it.
	quiet = 2 * time.Second
	tick  = 500 * time.Millisecond
)

// meter counts bytes that are written to it and shows a person how many there were.
type meter struct {
	errOut io.Writer
	what   string
	total  int64
	start  time.Time

	mu    sync.Mutex
	line  *progress.Line
	count int64
	shown time.Time
}

// newMeter returns a meter for a copy of so many bytes; 0: not known. On what is no terminal it shows nothing.
func newMeter(errOut io.Writer, what string, total int64) *meter {
	m := &meter{errOut: errOut, what: what, total: total, start: time.Now()}
	if printers.IsTerminal(errOut) {
		m.line = progress.New(errOut)
	}
	return m
}

// Write implements io.Writer.
func (m *meter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count += int64(len(p))
	now := time.Now()
	if m.line != nil && now.Sub(m.start) > quiet && now.Sub(m.shown) > tick {
		m.shown = now
		m.line.Update(m.text(now.Sub(m.start)))
	}
	return len(p), nil
}

func (m *meter) text(elapsed time.Duration) string {
	const mebi = 1 << 20
	text := fmt.Sprintf("%s: %.0f MiB", m.what, float64(m.count)/mebi)
	if m.total > 0 {
		text += fmt.Sprintf(" of %.0f", float64(m.total)/mebi)
	}
	return text + fmt.Sprintf(", %.1f MiB/s", float64(m.count)/mebi/elapsed.Seconds())
}

// warn shows a sentence and leaves it there.
func (m *meter) warn(sentence string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.line != nil {
		m.line.Clear()
	}
	_, _ = fmt.Fprintln(m.errOut, "warning:", sentence) // the copy goes on if nobody reads it
}

// stop takes the line away.
func (m *meter) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.line != nil {
		m.line.Clear()
	}
	m.line = nil
}

// sizeOf is about how many bytes there are at a path; what cannot be read is found out when it is copied.
func sizeOf(root string) int64 {
	var size int64
	_ = filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// firstWords keeps the beginning of what a command says.
type firstWords struct{ text strings.Builder }

const maxWords = 1000

// Write implements io.Writer.
func (f *firstWords) Write(p []byte) (int, error) {
	f.text.Write(p[:min(len(p), max(0, maxWords-f.text.Len()))])
	return len(p), nil
}

// String is what was said, in a line.
func (f *firstWords) String() string {
	return strings.Join(strings.FieldsFunc(strings.TrimSpace(f.text.String()), func(r rune) bool { return r == '\n' }), "; ")
}

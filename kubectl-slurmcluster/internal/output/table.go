package output

import (
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

// Columns is the width of the terminal that everything for people fits.
const Columns = 80

// Table is text in columns, as kubectl prints it.
type Table struct {
	Header []string
	Rows   [][]string
	// Indent is put before each line.
	Indent string
	// Width is where lines are cut; 0: nowhere.
	Width int
}

// String implements fmt.Stringer.
func (t *Table) String() string {
	var text strings.Builder
	tabs := printers.GetNewTabWriter(&text)
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		_, _ = fmt.Fprintln(tabs, strings.Join(row, "\t")) // a strings.Builder takes everything
	}
	_ = tabs.Flush()
	var lines strings.Builder
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, " \n")
		if t.Width > 0 {
			line = progress.Truncate(line, t.Width-len(t.Indent))
		}
		lines.WriteString(t.Indent + line + "\n")
	}
	return lines.String()
}

package status

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mitchellh/go-wordwrap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

const (
	columns = 80
	// More than these would push the top of the report off the screen.
	maxRows   = 10
	maxEvents = 6
)

var formats = map[string]func(io.Writer, *report) error{"": printText, "json": printJSON, "yaml": printYAML}

func printJSON(out io.Writer, r *report) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "    ")
	return encoder.Encode(r)
}

func printYAML(out io.Writer, r *report) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func printText(out io.Writer, r *report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in namespace %s, %s old%s\n", r.Name, r.Namespace, age(r.Created), slurmVersion(r))
	for _, c := range r.Status.Conditions {
		title := fmt.Sprintf("%s=%s", c.Type, c.Status)
		text := c.Reason
		if c.Message != "" {
			text += ": " + c.Message
		}
		wrapped := strings.Split(wordwrap.WrapString(text, columns-21), "\n")
		fmt.Fprintf(&b, "  %-18s %s\n", title, strings.Join(wrapped, "\n"+strings.Repeat(" ", 21)))
	}
	if len(r.Status.Conditions) == 0 {
		b.WriteString("  the operator has not reported on it yet\n")
	}
	writeNodeSets(&b, r)
	writePods(&b, r)
	writeJobs(&b, r)
	writeEvents(&b, r)
	_, err := io.WriteString(out, b.String())
	return err
}

func slurmVersion(r *report) string {
	if r.Status.SlurmVersion == "" {
		return ""
	}
	return ", Slurm " + r.Status.SlurmVersion
}

func writeNodeSets(b *strings.Builder, r *report) {
	rows := make([][]string, 0, len(r.Status.NodeSets))
	for _, s := range r.Status.NodeSets {
		counts := fmt.Sprintln(s.Name, s.Wanted, s.Ready, s.Idle, s.Allocated, s.Draining, s.Down)
		rows = append(rows, strings.Fields(counts))
	}
	writeTable(b, "Node sets", []string{"NAME", "WANTED", "READY", "IDLE", "ALLOCATED", "DRAINING", "DOWN"}, rows)
}

func writePods(b *strings.Builder, r *report) {
	rows := make([][]string, 0, len(r.Pods))
	for _, p := range r.Pods {
		rows = append(rows, []string{p.Name, p.Ready, p.State, fmt.Sprint(p.Restarts), age(p.Created), p.Host})
	}
	writeTable(b, "Pods", []string{"NAME", "READY", "STATE", "RESTARTS", "AGE", "HOST"}, rows)
}

func writeJobs(b *strings.Builder, r *report) {
	if r.JobsError != "" {
		fmt.Fprintf(b, "\nJobs\n  %s\n", strings.ReplaceAll(wordwrap.WrapString("not known: "+r.JobsError, columns-2), "\n", "\n  "))
		return
	}
	rows := make([][]string, 0, len(r.Jobs))
	for _, j := range r.Jobs {
		rows = append(rows, []string{j.ID, progress.Truncate(j.Name, 20), j.State, j.Time, j.Nodes, j.Reason})
	}
	writeTable(b, "Jobs", []string{"ID", "NAME", "STATE", "TIME", "NODES", "WHERE OR WHY NOT"}, rows)
}

func writeEvents(b *strings.Builder, r *report) {
	newest := r.Events[max(0, len(r.Events)-maxEvents):]
	rows := make([][]string, 0, len(newest))
	for _, e := range slices.Backward(newest) {
		rows = append(rows, []string{age(e.Last), e.Reason, e.Object, strings.Join(strings.Fields(e.Message), " ")})
	}
	writeTable(b, "Newest events", []string{"AGE", "REASON", "OBJECT", "MESSAGE"}, rows)
}

// writeTable writes rows in columns, as kubectl does, and cuts what does not fit into a line.
func writeTable(b *strings.Builder, title string, header []string, rows [][]string) {
	if len(rows) == 0 {
		fmt.Fprintf(b, "\n%s: none\n", title)
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	shown := rows[:min(len(rows), maxRows)]
	var table strings.Builder
	tabs := printers.GetNewTabWriter(&table)
	for _, row := range append([][]string{header}, shown...) {
		_, _ = fmt.Fprintln(tabs, strings.Join(row, "\t")) // a strings.Builder takes everything
	}
	_ = tabs.Flush()
	for line := range strings.Lines(table.String()) {
		fmt.Fprintf(b, "  %s\n", progress.Truncate(strings.TrimRight(line, " \n"), columns-2))
	}
	if more := len(rows) - len(shown); more > 0 {
		fmt.Fprintf(b, "  ... and %d more\n", more)
	}
}

func age(t metav1.Time) string {
	if t.IsZero() {
		return "?"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

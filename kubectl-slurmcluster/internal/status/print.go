package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mitchellh/go-wordwrap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

const (
	columns = output.Columns
	// More than these would push the top of the report off the screen.
	maxRows   = 10
	maxEvents = 6
)

// text is the report for people.
func (r *report) text() string {
	var b strings.Builder
	title := fmt.Sprintf("%s in namespace %s, %s old%s", r.Name, r.Namespace, age(r.Created), slurmVersion(r))
	b.WriteString(wordwrap.WrapString(title, columns) + "\n")
	for _, hint := range r.hints {
		writeWrapped(&b, hint)
	}
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
	return b.String()
}

// writeWrapped writes text in lines that begin two characters further right.
func writeWrapped(b *strings.Builder, text string) {
	fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(wordwrap.WrapString(text, columns-2), "\n", "\n  "))
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
		b.WriteString("\nJobs\n")
		writeWrapped(b, "not known: "+r.JobsError)
		return
	}
	rows := make([][]string, 0, len(r.Jobs))
	for i := range r.Jobs {
		j := &r.Jobs[i]
		rows = append(rows, []string{j.ID, progress.Truncate(j.Name, 20), j.State, j.Elapsed, fmt.Sprint(j.NodeCount), j.Where()})
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
	b.WriteString((&output.Table{Header: header, Rows: shown, Indent: "  ", Width: columns}).String())
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

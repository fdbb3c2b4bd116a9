package nodes

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
)

// text is the description for people.
func (d *description) text() string {
	return strings.Join([]string{
		fmt.Sprintf("Node %s of %s in namespace %s\n", d.Name, d.Cluster, d.Namespace),
		d.slurmSection().String(), d.podSection().String(), d.shimSection().String(),
	}, "\n")
}

func (d *description) slurmSection() *output.Section {
	s := &output.Section{Title: "Slurm"}
	n := d.Slurm
	if n == nil {
		if d.SlurmError != "" {
			s.AddText("not known: " + d.SlurmError)
		} else {
			s.AddText("does not know the node")
		}
		return s
	}
	s.Add("state", n.State())
	s.Add("reason", n.Reason)
	s.Add("says", n.Extra)
	s.Add("CPUs", fmt.Sprintf("%d, jobs have %d; load %.2f", n.CPUs, n.AllocatedCPUs, n.Load))
	s.Add("shape", fmt.Sprintf("%d board x %d sockets x %d cores x %d threads", n.Boards, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore))
	s.Add("memory", fmt.Sprintf("%s, jobs have %s", memory(n.MemoryMB), memory(n.AllocatedMemory)))
	if n.Gres != "" {
		s.Add("gres", fmt.Sprintf("%s, jobs have %s", n.Gres, n.GresUsed))
	}
	s.Add("features", strings.Join(n.Features, ", "))
	s.Add("partitions", strings.Join(n.Partitions, ", "))
	s.Add("jobs", jobList(d.Jobs))
	if n.Started != nil {
		s.Add("slurmd", fmt.Sprintf("%s, started %s ago", n.Version, age(*n.Started)))
	}
	return s
}

func jobList(jobs []slurm.Job) string {
	ids := make([]string, 0, len(jobs))
	for i := range jobs {
		ids = append(ids, jobs[i].ID)
	}
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

func (d *description) podSection() *output.Section {
	p := d.Pod
	if p == nil {
		s := &output.Section{Title: "Pod"}
		s.AddText("there is none")
		return s
	}
	s := &output.Section{Title: "Pod " + p.Name}
	phase := p.Phase
	if p.Leaving {
		phase += ", is being deleted"
	}
	s.Add("phase", phase)
	s.Add("problem", p.Problem)
	s.Add("machine", p.Host)
	s.Add("address", p.Address)
	s.Add("age", age(p.Created))
	for _, c := range p.Containers {
		s.Add(c.Name, c.sentence())
	}
	return s
}

func (c *containerReport) sentence() string {
	text := "not ready"
	if c.Ready {
		text = "ready"
	}
	text += ", " + progress.Count(c.Restarts, "restart")
	if e := c.Ended; e != nil {
		text += fmt.Sprintf("; ended %s ago: %s, exit code %d", age(e.Time), e.Reason, e.ExitCode)
		if e.Message != "" {
			text += "\n" + strings.TrimSpace(e.Message)
		}
	}
	return text
}

func (d *description) shimSection() *output.Section {
	s := &output.Section{Title: "The node's own account"}
	if d.Shim.Error != "" {
		s.AddText("not known: " + d.Shim.Error)
	}
	s.AddText(d.Shim.text)
	return s
}

func age(t metav1.Time) string {
	if t.IsZero() {
		return "?"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

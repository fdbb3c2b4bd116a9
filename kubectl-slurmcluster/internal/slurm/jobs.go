// Package slurm asks a cluster's slurmctld about jobs and nodes, through the clients in its pod.
package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// Job is a job, a task of an array, or the tasks of an array that wait.
type Job struct {
	// ID is as squeue writes it, such as 17, 17_3 or 17_[4-9].
	ID        string `json:"id"`
	Name      string `json:"name"`
	User      string `json:"user"`
	Partition string `json:"partition"`
	// State is in Slurm's words, such as RUNNING.
	State string `json:"state"`
	// Reason is why a job waits or how it ended; empty while it runs.
	Reason string `json:"reason,omitempty"`
	// Nodes is a list in Slurm's words, such as cpu-[0-3].
	Nodes     string `json:"nodes,omitempty"`
	NodeCount int    `json:"nodeCount"`
	CPUs      int    `json:"cpus"`
	// Resources are what it has or asks for, such as cpu=2,mem=4G,node=1,gres/gpu=1.
	Resources string `json:"resources,omitempty"`
	// Elapsed and TimeLimit are times in Slurm's words, such as 1-02:03:04.
	Elapsed   string       `json:"elapsed"`
	TimeLimit string       `json:"timeLimit"`
	Submitted *metav1.Time `json:"submitted,omitempty"`
	// Started is when it began, or will as far as Slurm can tell.
	Started *metav1.Time `json:"started,omitempty"`
	// Ends is when it ended, or when its time limit ends it.
	Ends     *metav1.Time `json:"ends,omitempty"`
	ExitCode string       `json:"exitCode,omitempty"`
	Restarts int          `json:"restarts"`
	// Batch is false for what srun or salloc has started.
	Batch bool `json:"batch"`
	// Requeueable says whether Slurm may run it again.
	Requeueable bool `json:"requeueable"`
}

// Where is where a job runs or, in brackets, why it does not.
func (j *Job) Where() string {
	switch {
	case j.Nodes == "" && j.Reason != "":
		return "(" + j.Reason + ")"
	case j.Ended() && j.Reason != "":
		return j.Nodes + " (" + j.Reason + ")"
	}
	return j.Nodes
}

// Pending says whether the job waits.
func (j *Job) Pending() bool { return j.State == "PENDING" }

// Ended says whether the job is over and has left its nodes.
func (j *Job) Ended() bool {
	return !slices.Contains([]string{"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "SIGNALING", "STOPPED",
		"STAGE_OUT", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"}, j.State)
}

// A job's name can hold anything but a control character, so one of these separates the columns.
const separator = "\x1f"

// columns are the fields that squeue is asked for, and what becomes of each.
var columns = []struct {
	field string
	set   func(j *Job, text string)
}{
	{"JobArrayID", func(j *Job, s string) { j.ID = s }},
	{"Name", func(j *Job, s string) { j.Name = s }},
	{"UserName", func(j *Job, s string) { j.User = s }},
	{"Partition", func(j *Job, s string) { j.Partition = s }},
	{"State", func(j *Job, s string) { j.State = s }},
	{"Reason", func(j *Job, s string) { j.Reason = unless(s, "None") }},
	{"NodeList", func(j *Job, s string) { j.Nodes = s }},
	{"NumNodes", func(j *Job, s string) { j.NodeCount = number(s) }},
	{"NumCPUs", func(j *Job, s string) { j.CPUs = number(s) }},
	{"tres-alloc", func(j *Job, s string) { j.Resources = unless(s, "N/A") }},
	{"TimeUsed", func(j *Job, s string) { j.Elapsed = s }},
	{"TimeLimit", func(j *Job, s string) { j.TimeLimit = s }},
	{"SubmitTime", func(j *Job, s string) { j.Submitted = moment(s) }},
	{"StartTime", func(j *Job, s string) { j.Started = moment(s) }},
	{"EndTime", func(j *Job, s string) { j.Ends = moment(s) }},
	{"exit_code", func(j *Job, s string) { j.ExitCode = s }},
	{"RestartCnt", func(j *Job, s string) { j.Restarts = number(s) }},
	{"BatchFlag", func(j *Job, s string) { j.Batch = s == "1" }},
	{"Requeue", func(j *Job, s string) { j.Requeueable = s == "1" }},
}

// command asks for the columns. squeue has JSON as well, but of eight kilobytes a job. Times are seconds since 1970.
func command(states string, filters []string) []string {
	fields := make([]string, 0, len(columns))
	for _, c := range columns {
		fields = append(fields, c.field+":"+separator)
	}
	squeue := []string{"env", "SLURM_TIME_FORMAT=%s", "squeue", "--noheader", "--noconvert", "--states=" + states, "--Format=" + strings.Join(fields, ",")}
	return append(squeue, filters...)
}

// States of jobs to ask for.
const (
	// Current are the jobs that run or wait.
	Current = "PENDING,RUNNING,SUSPENDED,COMPLETING,CONFIGURING,SIGNALING,STAGE_OUT,STOPPED,RESIZING"
	// Running are the jobs that hold nodes.
	Running = "RUNNING,SUSPENDED,CONFIGURING"
	// All are those and the jobs that ended within the last hour, or what MinJobAge says.
	All = "all"
)

// Jobs lists jobs: those that run, then those that wait in Slurm's order, then those that have ended. Filters are
// options of squeue, such as --nodelist=cpu-0.
func Jobs(ctx context.Context, cluster *pods.Cluster, states string, filters ...string) ([]Job, error) {
	text, err := cluster.Output(ctx, cluster.Controller(), command(states, filters)...)
	if err != nil {
		return nil, err
	}
	jobs := []Job{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), separator)
		if len(cells) != len(columns)+1 { // each column has a separator behind it
			return nil, fmt.Errorf("squeue in pod %s wrote a line that is not understood: %q", cluster.Controller().Pod, line)
		}
		var j Job
		for i, c := range columns {
			c.set(&j, cells[i])
		}
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return a.rank() - b.rank() })
	return jobs, nil
}

func (j *Job) rank() int {
	switch {
	case j.Pending():
		return 1
	case j.Ended():
		return 2
	}
	return 0
}

func unless(text, nothing string) string {
	if text == nothing {
		return ""
	}
	return text
}

// number reads a count.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// moment reads a time; Slurm has words for those that are not known.
func moment(text string) *metav1.Time {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds <= 0 {
		return nil
	}
	return &metav1.Time{Time: time.Unix(seconds, 0).UTC()}
}

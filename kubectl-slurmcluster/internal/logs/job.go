package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
)

// job is a batch job, a task of an array, or the tasks of an array that wait.
type job struct {
	JobID       int64    `json:"job_id"`
	ArrayJobID  number   `json:"array_job_id"`
	ArrayTaskID number   `json:"array_task_id"`
	ArrayTasks  string   `json:"array_task_string"`
	HetJobID    number   `json:"het_job_id"`
	HetOffset   number   `json:"het_job_offset"`
	Batch       bool     `json:"batch_flag"`
	Host        string   `json:"batch_host"`
	States      []string `json:"job_state"`
	Reason      string   `json:"state_reason"`
	Stdout      string   `json:"standard_output"`
	Stderr      string   `json:"standard_error"`
}

type number struct {
	Set    bool  `json:"set"`
	Number int64 `json:"number"`
}

func (j *job) id() string {
	switch {
	case j.ArrayTasks != "":
		return fmt.Sprintf("%d_[%s]", j.ArrayJobID.Number, j.ArrayTasks)
	case j.ArrayTaskID.Set:
		return fmt.Sprintf("%d_%d", j.ArrayJobID.Number, j.ArrayTaskID.Number)
	}
	return fmt.Sprint(j.JobID)
}

func (j *job) state() string {
	return strings.Join(j.States, ",")
}

func (j *job) pending() bool {
	return slices.Contains(j.States, "PENDING")
}

// ended is true when nothing of the job can write any more. Processes may outlive the decision to end a
// job; it is COMPLETING until they are gone.
func (j *job) ended() bool {
	return !slices.ContainsFunc(j.States, func(state string) bool {
		return slices.Contains([]string{"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"}, state)
	})
}

// stderr is the path of a file for standard error alone, if there is one.
func (j *job) stderr() string {
	if j.Stderr == j.Stdout {
		return ""
	}
	return j.Stderr
}

// find asks slurmctld for a job, a task of an array, or all tasks. Slurm forgets jobs; there may be none.
func find(ctx context.Context, cluster *pods.Cluster, id string) ([]job, error) {
	base, task, isTask := strings.Cut(id, "_")
	text, err := cluster.Output(ctx, cluster.Controller(), "scontrol", "show", "job", base, slurm.DataParser)
	if err != nil {
		return nil, err
	}
	jobs, err := parse(text)
	if err != nil || !isTask {
		return jobs, err
	}
	// With --json, scontrol shows the whole array whatever task it is asked for.
	number, err := strconv.ParseInt(task, 10, 64)
	return slices.DeleteFunc(jobs, func(j job) bool { return !j.hasTask(number) }), err
}

func parse(text string) ([]job, error) {
	var answer struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("reading what scontrol says about the job: %w", err)
	}
	// The script of a heterogeneous job runs in its first part; the others write nothing.
	jobs := slices.DeleteFunc(answer.Jobs, func(j job) bool { return j.HetJobID.Number != 0 && j.HetOffset.Number != 0 })
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.firstTask(), b.firstTask()) })
	return jobs, nil
}

// taskRange is a part of an array's specification, such as 7 or 1-5:2.
var taskRange = regexp.MustCompile(`([0-9]+)(?:-([0-9]+))?(?::([0-9]+))?`)

// hasTask says whether the record is about this task of its array.
func (j *job) hasTask(task int64) bool {
	if j.ArrayTasks == "" {
		return j.ArrayTaskID.Set && j.ArrayTaskID.Number == task
	}
	tasks, _, _ := strings.Cut(j.ArrayTasks, "%")
	for _, part := range taskRange.FindAllStringSubmatch(tasks, -1) {
		first, last, step := atoi(part[1]), atoi(cmp.Or(part[2], part[1])), atoi(cmp.Or(part[3], "1"))
		if first <= task && task <= last && (task-first)%max(step, 1) == 0 {
			return true
		}
	}
	return strings.Contains(tasks, "...") // Slurm cuts long lists short
}

// firstTask puts the records of an array in order, tasks that wait last.
func (j *job) firstTask() int64 {
	if j.ArrayTasks != "" {
		return math.MaxInt64
	}
	return j.ArrayTaskID.Number
}

// atoi is for what a pattern has found to be digits; too many of them are more than any task's number.
func atoi(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

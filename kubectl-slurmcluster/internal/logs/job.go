package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// dataParser is the newest shape of Slurm's JSON that all supported versions (24.11 to 26.05) can write.
// Patterns such as %j are expanded in it.
const dataParser = "--json=v0.0.42"

// job is a batch job, a task of an array, or the tasks of an array that wait.
type job struct {
	JobID       int64    `json:"job_id"`
	ArrayJobID  number   `json:"array_job_id"`
	ArrayTaskID number   `json:"array_task_id"`
	ArrayTasks  string   `json:"array_task_string"`
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

// find asks slurmctld for a job, or for all tasks of an array. Slurm forgets jobs; there may be none.
func find(ctx context.Context, cluster *pods.Cluster, id string) ([]job, error) {
	text, err := cluster.Output(ctx, cluster.Controller(), "scontrol", "show", "job", id, dataParser)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

func parse(text string) ([]job, error) {
	var answer struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("reading what scontrol says about the job: %w", err)
	}
	slices.SortFunc(answer.Jobs, func(a, b job) int {
		return cmp.Or(compareBool(a.pending(), b.pending()), cmp.Compare(a.ArrayTaskID.Number, b.ArrayTaskID.Number))
	})
	return answer.Jobs, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

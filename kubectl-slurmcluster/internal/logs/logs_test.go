package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientexec "k8s.io/client-go/util/exec"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// slurmctld plays the pods of a cluster: answers of scontrol, one after the other, and files by pod and path.
type slurmctld struct {
	answers []string
	files   map[string]string
}

func (s *slurmctld) Run(_ context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
	last := command[len(command)-1]
	content, found := s.files[target.Pod+":"+last]
	switch {
	case command[0] == "scontrol":
		_, err := io.WriteString(streams.Out, s.answers[0])
		s.answers = s.answers[min(1, len(s.answers)-1):]
		return err
	case command[0] == "cat" && found:
		_, err := io.WriteString(streams.Out, content)
		return err
	case slices.Contains(command, exists) && !found:
		return clientexec.CodeExitError{Err: os.ErrNotExist, Code: exitMissing}
	case slices.Contains(command, follow):
		if _, err := io.WriteString(streams.Out, content); err != nil {
			return err
		}
		if _, err := streams.In.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // until the job has ended
			return fmt.Errorf("the gate gave %w", err)
		}
	case strings.Contains(strings.Join(command, " "), usualNames):
		for _, file := range slices.Sorted(maps.Keys(s.files)) {
			pod, path, _ := strings.Cut(file, ":")
			if name := filepath.Base(path); pod == target.Pod && (name == "slurm-"+last+".out" || strings.HasPrefix(name, "slurm-"+last+"_")) {
				if _, err := fmt.Fprintln(streams.Out, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func jobs(records ...string) string {
	return `{"jobs": [` + strings.Join(records, ",") + `]}`
}

func record(id int, state, host, more string) string {
	return fmt.Sprintf(`{"job_id": %d, "batch_flag": true, "batch_host": %q, "job_state": [%s], "state_reason": "Resources",
		"standard_output": "/home/user/slurm-%d.out" %s}`, id, host, state, id, more)
}

func node(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-" + name, Namespace: clitest.Namespace, Labels: map[string]string{
			contract.LabelCluster: "demo", contract.LabelNode: name, contract.LabelRole: contract.RoleSlurmd,
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func run(t *testing.T, s *slurmctld, args ...string) (*clitest.World, error) {
	demo := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: clitest.Namespace}}
	w := clitest.New(t, s, []runtime.Object{demo}, node("cpu-0"), node("cpu-1"))
	cmd := Command(w.Env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"demo"}, args...))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return w, cmd.ExecuteContext(ctx)
}

const (
	task1 = `{"job_id": 4, "array_job_id": {"set": true, "number": 3}, "array_task_id": {"set": true, "number": 1}, "batch_flag": true,
		"batch_host": "cpu-0", "job_state": ["COMPLETED"], "standard_output": "/home/user/slurm-3_1.out"}`
	task2 = `{"job_id": 5, "array_job_id": {"set": true, "number": 3}, "array_task_id": {"set": true, "number": 2}, "batch_flag": true,
		"batch_host": "cpu-1", "job_state": ["COMPLETED"], "standard_output": "/home/user/slurm-3_2.out"}`
	waiting = `{"job_id": 3, "array_job_id": {"set": true, "number": 3}, "array_task_string": "7-11:2%1", "batch_flag": true,
		"job_state": ["PENDING"], "state_reason": "JobArrayTaskLimit", "standard_output": "/home/user/slurm-3_4294967294.out"}`
)

var (
	array         = jobs(waiting, task2, task1)
	heterogeneous = jobs(record(1, `"COMPLETED"`, "cpu-0", `, "het_job_id": {"set": true, "number": 1}, "het_job_offset": {"set": true, "number": 0}`),
		record(2, `"COMPLETED"`, "cpu-1", `, "het_job_id": {"set": true, "number": 1}, "het_job_offset": {"set": true, "number": 1}`))
)

func TestLogs(t *testing.T) {
	const out1 = "/home/user/slurm-1.out"
	canned := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		require.NoError(t, err)
		return string(data)
	}
	tests := map[string]struct {
		answer string
		files  map[string]string
		id     string
		out    string
		errOut string
		err    string
	}{
		"on its node":        {answer: jobs(record(1, `"COMPLETED"`, "cpu-1", "")), files: map[string]string{"demo-cpu-1:" + out1: "hi\n", "demo-cpu-0:" + out1: "other\n"}, out: "hi\n"},
		"on a shared volume": {answer: jobs(record(1, `"COMPLETED"`, "cpu-7", "")), files: map[string]string{"demo-cpu-0:" + out1: "hi\n"}, out: "hi\n"},
		"node gone":          {answer: jobs(record(1, `"COMPLETED"`, "cpu-7", "")), err: "node cpu-7, whose pod is gone; a shared volume keeps outputs"},
		"file gone":          {answer: jobs(record(1, `"COMPLETED"`, "cpu-0", "")), err: "job 1 (COMPLETED) has no file " + out1 + " on node cpu-0"},
		"waits":              {answer: jobs(record(1, `"PENDING"`, "", "")), err: "job 1 has not started: Resources"},
		"cancelled":          {answer: jobs(record(1, `"CANCELLED"`, "", "")), err: "job 1 (CANCELLED) ended before it started"},
		"interactive":        {answer: jobs(`{"job_id": 1, "batch_flag": false, "job_state": ["RUNNING"]}`), err: "its output went to the terminal"},
		"24.11": {
			answer: canned("24.11-job"), id: "2", out: "out\n", errOut: "err\n",
			files: map[string]string{"demo-cpu-0:/home/user/out-2-h.sh.txt": "out\n", "demo-cpu-0:/home/user/err-2.txt": "err\n"},
		},
		"26.05": {
			answer: canned("26.05-job"), id: "2", out: "out\n", errOut: "err\n",
			files: map[string]string{"demo-cpu-0:/home/user/out-2-h.sh.txt": "out\n", "demo-cpu-0:/home/user/err-2.txt": "err\n"},
		},
		"array of 24.11": {
			answer: canned("24.11-array"), id: "3", out: "==> 3_1, cpu-0, RUNNING <==\none\n", err: "job 3_[2-3%1] has not started: JobArrayTaskLimit",
			files: map[string]string{"demo-cpu-0:/home/user/slurm-3_1.out": "one\n"},
		},
		"array of 26.05": {
			answer: canned("26.05-array"), id: "3", out: "==> 3_1, cpu-0, RUNNING <==\none\n", err: "job 3_[2-3%1] has not started: JobArrayTaskLimit",
			files: map[string]string{"demo-cpu-0:/home/user/slurm-3_1.out": "one\n"},
		},
		"a task": {
			answer: array, id: "3_2", out: "two\n", files: map[string]string{"demo-cpu-0:/home/user/slurm-3_1.out": "one\n", "demo-cpu-1:/home/user/slurm-3_2.out": "two\n"},
		},
		"a task that waits": {answer: array, id: "3_9", err: "job 3_[7-11:2%1] has not started: JobArrayTaskLimit"},
		"a task, forgotten": {answer: array, id: "3_8", err: "job 3_8 is unknown"},
		"heterogeneous":     {answer: heterogeneous, id: "1", out: "hi\n", files: map[string]string{"demo-cpu-0:" + out1: "hi\n"}},
		"forgotten":         {answer: canned("24.11-unknown"), id: "77", out: "old\n", files: map[string]string{"demo-cpu-1:/home/user/slurm-77.out": "old\n"}},
		"forgotten array": {
			answer: jobs(), id: "8",
			files: map[string]string{"demo-cpu-0:/home/user/slurm-8_1.out": "a\n", "demo-cpu-1:/home/user/slurm-8_1.out": "a\n", "demo-cpu-1:/home/user/slurm-8_2.out": "b\n"},
			out:   "==> /home/user/slurm-8_1.out in pod demo-cpu-0 <==\na\n==> /home/user/slurm-8_2.out in pod demo-cpu-1 <==\nb\n",
		},
		"unknown":  {answer: jobs(), id: "9", err: "job 9 is unknown"},
		"no id":    {id: "slurm-1.out", err: `"slurm-1.out" is not the id of a job`},
		"nonsense": {answer: "slurmctld is away", err: "reading what scontrol says"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.id == "" {
				test.id = "1"
			}
			w, err := run(t, &slurmctld{answers: []string{test.answer}, files: test.files}, test.id)
			if test.err == "" {
				require.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, test.err)
			}
			assert.Equal(t, test.out, w.Out.String())
			assert.Equal(t, test.errOut, w.ErrOut.String())
		})
	}
}

func TestFollow(t *testing.T) {
	requeued := jobs(record(1, `"PENDING"`, "", ""))
	on := func(state, host string) string { return jobs(record(1, state, host, "")) }
	s := &slurmctld{
		answers: []string{
			requeued, requeued, on(`"RUNNING"`, "cpu-0"), // waits, starts
			on(`"PENDING"`, ""), on(`"RUNNING"`, "cpu-1"), // loses its node, starts again
			on(`"COMPLETED","COMPLETING"`, "cpu-1"), on(`"COMPLETED"`, "cpu-1"), on(`"COMPLETED"`, "cpu-1"),
		},
		files: map[string]string{"demo-cpu-0:/home/user/slurm-1.out": "first try\n", "demo-cpu-1:/home/user/slurm-1.out": "second try\n"},
	}
	w, err := run(t, s, "1", "-f")
	require.NoError(t, err)
	assert.Equal(t, "first try\nsecond try\n", w.Out.String())
	assert.Equal(t, "job 1 has not started: Resources\n", w.ErrOut.String())
	assert.Len(t, s.answers, 1, "it asks until the job has ended")
}

// scontrol answers with the whole array when it is asked about a task.
func TestFollowArray(t *testing.T) {
	s := &slurmctld{
		answers: []string{jobs(task1, task2)},
		files:   map[string]string{"demo-cpu-0:/home/user/slurm-3_1.out": "one\n", "demo-cpu-1:/home/user/slurm-3_2.out": "two\n"},
	}
	w, err := run(t, s, "3", "-f")
	require.NoError(t, err)
	assert.Equal(t, "==> 3_1, cpu-0 <==\none\n==> 3_2, cpu-1 <==\ntwo\n", w.Out.String())
}

// The script that runs in the pod must print what comes late, and end with its standard input.
func TestFollowScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slurm-1.out")
	require.NoError(t, os.WriteFile(file, []byte("early\n"), 0o600)) // it was found before it is followed
	c := exec.CommandContext(t.Context(), "sh", "-c", follow, file)
	gate, err := c.StdinPipe()
	require.NoError(t, err)
	var out bytes.Buffer
	c.Stdout = &out
	require.NoError(t, c.Start())
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("late\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, gate.Close())
	require.NoError(t, c.Wait())
	assert.Equal(t, "early\nlate\n", out.String())
}

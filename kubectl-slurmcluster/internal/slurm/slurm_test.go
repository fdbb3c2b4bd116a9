package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

func cluster(t *testing.T, answers *clitest.Answers) *pods.Cluster {
	w := clitest.New(t, answers, []runtime.Object{clitest.Cluster()})
	c, err := pods.Open(w.Env, "demo")
	require.NoError(t, err)
	return c
}

// What both supported versions of Slurm really wrote.
func TestJobs(t *testing.T) {
	for _, version := range []string{"24.11", "26.05"} {
		t.Run(version, func(t *testing.T) {
			answers := &clitest.Answers{Text: map[string]string{"squeue": clitest.File(t, "testdata/"+version+"-jobs.txt")}}
			jobs, err := Jobs(t.Context(), cluster(t, answers), All, "--nodelist=cpu-0")
			require.NoError(t, err)
			assert.Regexp(t, `^demo-controller-0: env SLURM_TIME_FORMAT=%s squeue .* --states=all .* --nodelist=cpu-0$`, answers.Asked[0])
			byID := map[string]Job{}
			var states []string
			for _, j := range jobs {
				byID[j.ID] = j
				states = append(states, j.State)
			}
			assert.Regexp(t, `^(RUNNING )+(PENDING )+(CANCELLED |FAILED )+$`, strings.Join(states, " ")+" ")

			interactive := byID["10"]
			assert.False(t, interactive.Batch)
			assert.Equal(t, "cpu-1", interactive.Where())
			assert.Equal(t, 1, interactive.CPUs)
			norequeue := byID["5"]
			assert.True(t, norequeue.Batch)
			assert.False(t, norequeue.Requeueable)
			assert.Nil(t, norequeue.Ends)
			requeued := byID["1"]
			assert.Equal(t, "long name | with: things", requeued.Name)
			assert.Equal(t, "(BeginTime)", requeued.Where())
			assert.Equal(t, 1, requeued.Restarts)
			assert.Equal(t, "5:00", requeued.TimeLimit)
			assert.Greater(t, requeued.Started.Unix(), requeued.Submitted.Unix())
			ended := byID["9"]
			assert.True(t, ended.Ended())
			assert.Equal(t, "3:0", ended.ExitCode)
			assert.Equal(t, "cpu-1 (NonZeroExitCode)", ended.Where())
			assert.Equal(t, "héld", byID["4"].Name)
			assert.Equal(t, "cpu=1,mem=480M,node=1,billing=1", byID["4"].Resources)
		})
	}
}

func TestNoJobs(t *testing.T) {
	jobs, err := Jobs(t.Context(), cluster(t, &clitest.Answers{Text: map[string]string{"squeue": ""}}), Current)
	require.NoError(t, err)
	assert.NotNil(t, jobs, "a list in JSON")
	assert.Empty(t, jobs)
	_, err = Jobs(t.Context(), cluster(t, &clitest.Answers{Text: map[string]string{"squeue": "slurm is new"}}), Current)
	require.ErrorContains(t, err, `wrote a line that is not understood: "slurm is new"`)
}

func TestNodes(t *testing.T) {
	for _, version := range []string{"24.11", "26.05"} {
		t.Run(version, func(t *testing.T) {
			answers := &clitest.Answers{Text: map[string]string{"scontrol show nodes": clitest.File(t, "testdata/"+version+"-nodes.json")}}
			nodes, err := Nodes(t.Context(), cluster(t, answers))
			require.NoError(t, err)
			assert.Equal(t, "demo-controller-0: scontrol show nodes --json=v0.0.42", answers.Asked[0])
			require.Len(t, nodes, 3)
			assert.Equal(t, "cpu-0", nodes[0].Name)
			assert.Equal(t, "allocated", nodes[0].State())
			assert.Equal(t, int64(480), nodes[0].AllocatedMemory)
			assert.Equal(t, []string{"cpu", "avx2"}, nodes[0].Features)
			assert.NotNil(t, nodes[0].Started)
			assert.Equal(t, "gpu:2", nodes[2].Gres)
			assert.Nil(t, nodes[2].Started)
		})
	}
}

func TestNoNodes(t *testing.T) {
	nodes, err := Nodes(t.Context(), cluster(t, &clitest.Answers{Text: map[string]string{"cpu-9": `{"nodes": [], "warnings": [{"description": "No nodes to dump"}]}`}}), "cpu-9")
	require.NoError(t, err)
	assert.Empty(t, nodes)
	_, err = Nodes(t.Context(), cluster(t, &clitest.Answers{Text: map[string]string{"show": "slurmctld is away"}}))
	require.ErrorContains(t, err, "reading what scontrol says about nodes")
}

func TestNodeState(t *testing.T) {
	for states, want := range map[string]string{
		"IDLE DYNAMIC_NORM":           "idle",
		"IDLE DRAIN DYNAMIC_NORM":     "drained",
		"MIXED DRAIN":                 "draining",
		"IDLE COMPLETING DRAIN":       "draining+completing",
		"DOWN DRAIN NOT_RESPONDING":   "down+drain+not_responding",
		"IDLE CLOUD POWERED_DOWN":     "idle+powered_down",
		"ALLOCATED CLOUD POWERING_UP": "allocated+powering_up",
		"UNKNOWN DRAIN":               "drained",
		"":                            "unknown",
	} {
		assert.Equal(t, want, (&Node{States: strings.Fields(states)}).State())
	}
}

func TestCompareNames(t *testing.T) {
	assert.Negative(t, CompareNames("cpu-2", "cpu-10"))
	assert.Positive(t, CompareNames("gpu-0", "cpu-10"))
	assert.Negative(t, CompareNames("cpu-1", "cpu-2"))
	assert.Zero(t, CompareNames("cpu-1", "cpu-1"))
}

package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

func world(t *testing.T, squeue string) (*clitest.World, *clitest.Answers) {
	answers := &clitest.Answers{Text: map[string]string{"squeue": squeue}}
	return clitest.New(t, answers, []runtime.Object{clitest.Cluster()}), answers
}

func TestJobs(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	for name, args := range map[string]string{
		"table.txt": "demo", "wide.txt": "demo -o wide", "name.txt": "demo -o name", "jobs.json": "demo --output json", "jobs.yaml": "demo -o yaml",
	} {
		t.Run(name, func(t *testing.T) {
			w, answers := world(t, clitest.File(t, "../slurm/testdata/26.05-jobs.txt"))
			require.NoError(t, clitest.Run(t, Command(w.Env), strings.Fields(args)...))
			clitest.Golden(t, name, w.Out.String())
			assert.Contains(t, answers.Asked[0], "--states=PENDING,RUNNING")
		})
	}
	clitest.Fits(t, clitest.File(t, "testdata/table.txt"))
}

func TestAll(t *testing.T) {
	w, answers := world(t, "")
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "--all"))
	assert.Contains(t, answers.Asked[0], "--states=all")
	assert.Empty(t, w.Out.String())
	assert.Equal(t, "demo has no jobs.\n", w.ErrOut.String())
}

func TestNoneForPrograms(t *testing.T) {
	w, _ := world(t, "")
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "-o", "json"))
	var l list
	require.NoError(t, json.Unmarshal(w.Out.Bytes(), &l))
	assert.NotNil(t, l.Jobs)
}

func TestRefused(t *testing.T) {
	w, _ := world(t, "")
	assert.ErrorContains(t, clitest.Run(t, Command(w.Env), "demo", "-o", "xml"), "it is not known; use wide, json, yaml or name")
}

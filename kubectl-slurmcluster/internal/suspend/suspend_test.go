package suspend

import (
	"strings"
	"sync"
	"testing"

	"context"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

func plain(*v1alpha1.SlurmCluster)       {}
func seen(c *v1alpha1.SlurmCluster)      { c.Status.ObservedGeneration = 1 }
func stored(c *v1alpha1.SlurmCluster)    { c.Spec.Controller.Storage = &v1alpha1.ControllerStorage{} }
func suspended(c *v1alpha1.SlurmCluster) { c.Spec.Suspend = true }

func TestSuspend(t *testing.T) {
	const done = "slurmcluster.slurmcluster.dev/demo suspended\n"
	for name, test := range map[string]struct {
		cluster     func(*v1alpha1.SlurmCluster)
		args        string
		out, errOut string
	}{
		"without a volume": {plain, "demo", done + "Its queue stays in slurmctld, which keeps running; it has no volume.\n", ""},
		"with a volume":    {stored, "demo", done + "Its queue stays on its volume; slurmctld goes with the nodes.\n", ""},
		"already":          {suspended, "demo", done + "Its queue stays in slurmctld, which keeps running; it has no volume.\n", ""},
		"for programs":     {stored, "demo -o name", "slurmcluster.slurmcluster.dev/demo\n", "Its queue stays on its volume; slurmctld goes with the nodes.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := clitest.New(t, nil, []runtime.Object{clitest.Cluster(test.cluster)})
			require.NoError(t, clitest.Run(t, Command(w.Env), strings.Fields(test.args)...))
			assert.True(t, w.Get(t).Spec.Suspend)
			assert.Equal(t, test.out, w.Out.String())
			assert.Equal(t, test.errOut, w.ErrOut.String())
		})
	}
}

func TestResume(t *testing.T) {
	w := clitest.New(t, nil, []runtime.Object{clitest.Cluster(suspended)})
	require.NoError(t, clitest.Run(t, ResumeCommand(w.Env), "demo"))
	assert.False(t, w.Get(t).Spec.Suspend)
	assert.Equal(t, "slurmcluster.slurmcluster.dev/demo resumed\n", w.Out.String())
	assert.ErrorContains(t, clitest.Run(t, ResumeCommand(w.Env), "other"), `there is no SlurmCluster "other"`)
}

func TestWait(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "it is so", ObservedGeneration: 1}
	}
	w := clitest.New(t, nil, []runtime.Object{clitest.Cluster()})
	go func() {
		<-w.Watched
		for _, progressing := range []metav1.Condition{
			condition(v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonWaitingForJobs),
			condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonAsExpected),
		} {
			cluster := w.Get(t)
			cluster.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended), progressing}
			w.Set(t, cluster)
		}
	}()
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "--wait"))
	assert.Regexp(t, `volume.\nslurmcluster.slurmcluster.dev/demo has no nodes any more, in 0\.\ds\n$`, w.Out.String())
	assert.Contains(t, w.ErrOut.String(), "demo: WaitingForJobs: it is so\n")

	w = clitest.New(t, nil, []runtime.Object{clitest.Cluster(suspended)})
	go func() {
		<-w.Watched
		cluster := w.Get(t)
		cluster.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady)}
		w.Set(t, cluster)
	}()
	require.NoError(t, clitest.Run(t, ResumeCommand(w.Env), "demo", "--wait"))
	assert.Regexp(t, `ready: 0 nodes, 0 CPUs, in 0\.\ds\n$`, w.Out.String())
}

// slurmctld is one whose jobs leave their nodes at the second look.
type slurmctld struct {
	mu       sync.Mutex
	squeue   []string
	requeued []string
}

func (s *slurmctld) Run(_ context.Context, _ podexec.Target, command []string, streams podexec.Streams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if command[0] == "scontrol" {
		s.requeued = append(s.requeued, strings.Join(command[1:], " "))
		return nil
	}
	_, err := streams.Out.Write([]byte(s.squeue[0]))
	s.squeue = s.squeue[min(1, len(s.squeue)-1):]
	return err
}

func TestNow(t *testing.T) {
	lines := map[string]string{}
	for line := range strings.Lines(clitest.File(t, "../slurm/testdata/26.05-jobs.txt")) {
		id, _, _ := strings.Cut(line, "\x1f")
		lines[id] = line
	}
	job := strings.Replace(lines["1"], "PENDING", "RUNNING", 1)
	s := &slurmctld{squeue: []string{job + lines["5"] + lines["10"], lines["5"] + lines["10"]}}
	w := clitest.New(t, s, []runtime.Object{clitest.Cluster(seen)})
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "--now"))
	assert.Equal(t, []string{"requeue 1"}, s.requeued)
	assert.Contains(t, w.Out.String(), "Jobs that were requeued: 1\nJobs that cannot be requeued and are waited for: 10 (interactive), 5 (--no-requeue)\n")

	s = &slurmctld{squeue: []string{""}}
	w = clitest.New(t, s, []runtime.Object{clitest.Cluster(seen)})
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "--now", "-o", "name"))
	assert.Empty(t, s.requeued)
	assert.Equal(t, "slurmcluster.slurmcluster.dev/demo\n", w.Out.String())
}

package plugin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientexec "k8s.io/client-go/util/exec"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/command"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// run runs a command line against a cluster whose pods print and return what they are told to.
func run(t *testing.T, exit error, args ...string) (w *clitest.World, code int, sent string) {
	runner := clitest.Runner(func(_ context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
		sent = target.Pod + ": " + strings.Join(command[4:], " ") // after the shell that tells its process id
		if streams.In != nil {
			sent += " <"
		}
		if _, err := io.WriteString(streams.Err, "42\nsaid\n"); err != nil {
			return err
		}
		return exit
	})
	node := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo-cpu-0", Namespace: clitest.Namespace, Labels: map[string]string{
		contract.LabelCluster: "demo", contract.LabelNode: "cpu-0", contract.LabelRole: contract.RoleSlurmd,
	}}}
	w = clitest.New(t, runner, []runtime.Object{clitest.Cluster()}, node,
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "batch"}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "ssd"}})
	w.Classes = func(context.Context) ([]v1alpha1.SlurmClusterClass, error) {
		return []v1alpha1.SlurmClusterClass{{ObjectMeta: metav1.ObjectMeta{Name: "small"}}}, nil
	}
	root := Command(w.Env)
	root.SetArgs(args)
	code = command.Run(t.Context(), w.Env, root)
	return w, code, sent
}

func TestSlurmCommands(t *testing.T) {
	tests := map[string]string{
		"squeue demo -n job --long": "demo-controller-0: squeue -n job --long",
		"-n team-a sinfo demo -N":   "demo-controller-0: sinfo -N",
		"scancel -n team-a demo 1":  "demo-controller-0: scancel 1",
		"srun demo -n 2 --help":     "demo-controller-0: srun -n 2 --help <",
		"srun demo --pty bash":      "demo-controller-0: srun --pty bash <",
		"scontrol demo show nodes":  "demo-controller-0: scontrol show nodes",
		"salloc demo -N1 hostname":  "demo-controller-0: salloc -N1 hostname <",
	}
	for args, want := range tests {
		w, code, sent := run(t, nil, strings.Fields(args)...)
		assert.Zero(t, code, w.ErrOut.String())
		assert.Equal(t, want, sent)
		assert.Equal(t, "said\n", w.ErrOut.String())
	}
}

func TestExitCodes(t *testing.T) {
	w, code, _ := run(t, clientexec.CodeExitError{Err: errors.New("exit"), Code: 9}, "srun", "demo", "false")
	assert.Equal(t, 9, code)
	assert.Equal(t, "said\n", w.ErrOut.String(), "srun has said what is wrong")

	w, code, _ = run(t, errors.New("no route to host"), "squeue", "demo")
	assert.Equal(t, 1, code)
	assert.Contains(t, w.ErrOut.String(), "error: running a command in pod demo-controller-0: no route to host; the cluster is not ready")

	w, code, _ = run(t, errors.New("not found"), "squeue", "other")
	assert.Equal(t, 1, code)
	assert.Contains(t, w.ErrOut.String(), `error: there is no SlurmCluster "other"`)
}

func TestDelete(t *testing.T) {
	w, code, _ := run(t, nil, "delete", "demo", "other")
	assert.Equal(t, 1, code)
	assert.Regexp(t, `^slurmcluster.slurmcluster.dev/demo deleted in 0\.\ds\n$`, w.Out.String())
	assert.Contains(t, w.ErrOut.String(), `error: there is no SlurmCluster "other"`)
	w, _, _ = run(t, nil, "delete", "demo", "-o", "name")
	assert.Equal(t, "slurmcluster.slurmcluster.dev/demo\n", w.Out.String())
	_, code, _ = run(t, nil, "delete", "other", "--ignore-not-found")
	assert.Zero(t, code)
}

func TestCompletion(t *testing.T) {
	for _, name := range []string{
		"squeue", "sbatch", "status", "delete", "logs", "list", "shell", "salloc", "scale", "extend", "suspend", "resume", "nodes", "jobs",
		"describe-node", "cp",
	} {
		w, _, _ := run(t, nil, cobra.ShellCompNoDescRequestCmd, name, "")
		assert.Regexp(t, "(?m)^demo:?$", w.Out.String(), name)
	}
	for line, want := range map[string]string{
		"describe-node demo ": "cpu-0\n", "shell demo --node ": "cpu-0\n", "cp demo:x . --node ": "cpu-0\n", "scale demo --node-set ": "cpu\n",
		"nodes demo -o ": "wide\njson\nyaml\nname\n", "extend demo 2h -o ": "json\nyaml\nname\n",
		"create demo --class ": "small\n", "create demo --runtime-class ": "nvidia\n", "create demo --priority-class ": "batch\n",
		"create demo --storage-class ": "ssd\n", "create demo --task-binding ": "none\ncores\n",
	} {
		w, _, _ := run(t, nil, append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(line, " ")...)...)
		assert.Contains(t, w.Out.String(), want, line)
	}
}

func TestNotice(t *testing.T) {
	for args, want := range map[string]string{
		"shell demo":           "demo ends in 3h12m; kubectl slurmcluster extend demo 2h -n team-a gives it more time\n",
		"srun demo --pty bash": "demo ends in 3h12m; kubectl slurmcluster extend demo 2h -n team-a gives it more time\n",
		"srun demo hostname":   "",
	} {
		expires := metav1.Time{Time: time.Now().Add(3*time.Hour + 12*time.Minute + 30*time.Second).Truncate(time.Second)}
		demo := clitest.Cluster(func(c *v1alpha1.SlurmCluster) {
			c.Spec.Lifecycle.TTL = &metav1.Duration{Duration: expires.Sub(c.CreationTimestamp.Time)}
			c.Status.ExpiresAt = &expires
		})
		runner := clitest.Runner(func(context.Context, podexec.Target, []string, podexec.Streams) error { return nil })
		w := clitest.New(t, runner, []runtime.Object{demo})
		root := Command(w.Env)
		root.SetArgs(strings.Fields(args))
		assert.Zero(t, command.Run(t.Context(), w.Env, root))
		assert.Equal(t, want, w.ErrOut.String(), args)
	}
}

func TestVersion(t *testing.T) {
	for format, want := range map[string]string{"": "^Plugin: ", "json": `"plugin": "`, "yaml": "^plugin: ", "name": "^[^:]+\n$"} {
		w, code, _ := run(t, nil, "version", "--client", "-o", format)
		assert.Zero(t, code)
		assert.Regexp(t, want, w.Out.String())
	}
}

// Help must fit a terminal and say how each command is called through kubectl.
func TestHelp(t *testing.T) {
	w, _, _ := run(t, nil)
	for _, c := range Command(w.Env).Commands() {
		w, code, _ := run(t, nil, c.Name(), "--help")
		assert.Zero(t, code)
		if c.Name() == "completion" {
			continue // written by others
		}
		assert.Contains(t, w.Out.String(), "kubectl slurmcluster "+c.Name())
		clitest.Fits(t, w.Out.String())
	}
}

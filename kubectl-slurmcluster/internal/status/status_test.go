package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

func ago(d time.Duration) metav1.Time {
	return metav1.Time{Time: time.Now().Add(-d - 500*time.Millisecond)}
}

func cluster() *v1alpha1.SlurmCluster {
	return &v1alpha1.SlurmCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: clitest.Namespace, Generation: 1, CreationTimestamp: ago(3 * time.Minute)},
		Status: v1alpha1.SlurmClusterStatus{
			SlurmVersion: "24.11.5",
			Conditions: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNodesNotReady, Message: "slurmctld answers; 1 of 2 nodes is usable, cpu-1 has no room: 0/3 Kubernetes nodes are available, 3 have too little memory"},
				{Type: "Progressing", Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonStarting},
			},
			NodeSets: []v1alpha1.NodeSetStatus{{Name: "cpu", Wanted: 2, Ready: 1, Allocated: 1, Down: 1}},
		},
	}
}

func pod(name, role string, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "demo-" + name, Namespace: clitest.Namespace, CreationTimestamp: ago(2 * time.Minute),
			Labels: map[string]string{contract.LabelCluster: "demo", contract.LabelRole: role},
		},
		Spec:   corev1.PodSpec{NodeName: "worker-1", Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: state.Running != nil, State: state, RestartCount: 1}}},
	}
}

func event(name, object, message string, age time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: name, Namespace: clitest.Namespace},
		InvolvedObject: corev1.ObjectReference{Kind: map[bool]string{true: cli.Kind, false: "Pod"}[object == "demo"], Name: object},
		Type:           "Normal", Reason: "Something", Message: message, LastTimestamp: ago(age),
	}
}

func world(t *testing.T, runner podexec.Runner, changes ...func(*v1alpha1.SlurmCluster)) *clitest.World {
	demo := cluster()
	for _, change := range changes {
		change(demo)
	}
	return clitest.New(t, runner, []runtime.Object{demo},
		pod("controller-0", contract.RoleController, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
		pod("cpu-0", contract.RoleSlurmd, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}),
		event("a", "demo", "the older one", time.Minute),
		event("b", "demo-cpu-0", "the newer one, whose message is too long for a line\nand has two of them", 10*time.Second),
		event("c", "demo2-cpu-0", "of another cluster", time.Second),
	)
}

func squeue(rows int) clitest.Runner {
	return func(_ context.Context, _ podexec.Target, command []string, streams podexec.Streams) error {
		if !slices.Contains(command, "squeue") {
			return errors.New("unexpected " + command[0])
		}
		for i := range rows {
			row := fmt.Sprintf("%d/a | job's name/user/main/PENDING/Resources//1/1/cpu=1/0:00/5:00/N/N/N/0:0/0/1/1/\n", i+1)
			if _, err := fmt.Fprint(streams.Out, strings.ReplaceAll(row, "/", "\x1f")); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestText(t *testing.T) {
	tests := map[string]podexec.Runner{
		"jobs": squeue(12),
		"away": clitest.Runner(func(context.Context, podexec.Target, []string, podexec.Streams) error {
			return errors.New("connection refused")
		}),
	}
	for name, runner := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no time passes, however slow the machine
				w := world(t, runner)
				require.NoError(t, clitest.Run(t, Command(w.Env), "demo"))
				clitest.Golden(t, name+".txt", w.Out.String())
				clitest.Fits(t, w.Out.String())
			})
		})
	}
}

// A suspended cluster with a volume has no pod in which squeue could run.
func TestSuspended(t *testing.T) {
	expires := metav1.Time{Time: ago(0).Add(3*time.Hour + 12*time.Minute + 30*time.Second)}
	demo := cluster()
	demo.Spec.Suspend = true
	demo.Spec.Lifecycle.TTL = &metav1.Duration{Duration: expires.Sub(demo.CreationTimestamp.Time)}
	demo.Status.ExpiresAt = &expires
	demo.Status.NodeSets = nil
	demo.Status.Conditions = demo.Status.Conditions[:1]
	demo.Status.Conditions[0].Reason, demo.Status.Conditions[0].Message = v1alpha1.ReasonSuspended, "spec.suspend is true"
	refuse := clitest.Runner(func(context.Context, podexec.Target, []string, podexec.Streams) error {
		return errors.New("not found")
	})
	w := clitest.New(t, refuse, []runtime.Object{demo})
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo"))
	clitest.Golden(t, "suspended.txt", w.Out.String())
	clitest.Fits(t, w.Out.String())
}

func TestLongNames(t *testing.T) {
	w := world(t, squeue(1), func(c *v1alpha1.SlurmCluster) { c.Name = strings.Repeat("a", 40) })
	require.NoError(t, clitest.Run(t, Command(w.Env), strings.Repeat("a", 40)))
	clitest.Fits(t, w.Out.String())
}

func TestName(t *testing.T) {
	w := world(t, squeue(0))
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo", "-o", "name"))
	assert.Equal(t, "slurmcluster.slurmcluster.dev/demo\n", w.Out.String())
}

func TestJSON(t *testing.T) {
	w := world(t, squeue(1))
	cmd := Command(w.Env)
	cmd.SetArgs([]string{"demo", "-o", "json"})
	require.NoError(t, cmd.Execute())
	var r report
	decoder := json.NewDecoder(bytes.NewReader(w.Out.Bytes()))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r))
	assert.Equal(t, "a | job's name", r.Jobs[0].Name)
	assert.Len(t, r.Pods, 2)
	assert.Len(t, r.Events, 2)
	assert.Equal(t, int32(2), r.Status.NodeSets[0].Wanted)
}

func TestRefused(t *testing.T) {
	for args, want := range map[string]string{
		"demo -o xml": "use json, yaml or name",
		"demo2":       `there is no SlurmCluster "demo2" in namespace "team-a"`,
	} {
		w := world(t, squeue(0))
		cmd := Command(w.Env)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(args))
		assert.ErrorContains(t, cmd.Execute(), want)
	}
}

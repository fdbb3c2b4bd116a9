package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// listed is a slurmctld that remembers what it was asked.
type listed struct {
	Slurm // what it is not asked here
	nodes map[string]slurm.Node
	jobs  []slurm.Job
	infos []slurm.JobInfo
	// fails and failsInfos are what is answered instead.
	fails, failsInfos error
	asked             []string
}

func (l *listed) Nodes(context.Context) ([]slurm.Node, string, error) {
	l.asked = append(l.asked, "all")
	var list []slurm.Node
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		list = append(list, l.nodes[name])
	}
	return list, "24.11.5", l.fails
}

func (l *listed) Node(_ context.Context, name string) (slurm.Node, error) {
	l.asked = append(l.asked, name)
	if n, ok := l.nodes[name]; ok || l.fails != nil {
		return n, l.fails
	}
	return slurm.Node{}, slurm.ErrNoNode
}

func (l *listed) Jobs(context.Context) ([]slurm.Job, error) { return l.jobs, l.fails }

func (l *listed) JobInfos(context.Context) ([]slurm.JobInfo, error) { return l.infos, l.failsInfos }

func (l *listed) Config(context.Context) (contract.AgentConfig, error) {
	return contract.AgentConfig{RunningHash: "x"}, l.fails
}

// looks is a cluster that is looked at again and again.
type looks struct {
	testing.TB
	*listed
	*Reconciler
	cluster *v1alpha1.SlurmCluster
	clock   *clocktesting.FakeClock
	pods    []*corev1.Pod
}

func newLooks(t testing.TB, nodes int) *looks {
	t.Helper()
	l := &looks{TB: t, listed: &listed{nodes: map[string]slurm.Node{}}, cluster: &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{UID: "cluster"}}, clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}
	l.Reconciler = &Reconciler{Clock: l.clock, PollInterval: 15 * time.Second, NewSlurm: func(string, []byte) Slurm { return l.listed }}
	for i := range nodes {
		name := fmt.Sprint("cpu-", i)
		l.nodes[name] = slurm.Node{Name: name, State: []string{"IDLE"}}
		l.pods = append(l.pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			UID: types.UID("0000-" + name), ResourceVersion: "1", OwnerReferences: []metav1.OwnerReference{{UID: "cluster", Controller: ptr.To(true)}},
			Labels: map[string]string{contract.LabelNode: name, contract.LabelNodeSet: "cpu", contract.LabelRole: contract.RoleSlurmd},
		}})
	}
	return l
}

// look looks, and tells what slurmctld was asked for.
func (l *looks) look() (s *scope, asked []string) {
	l.Helper()
	s = l.scope()
	l.asked = nil
	require.NoError(l, s.askSlurm(l.Context()))
	return s, l.asked
}

// change is news of a pod.
func (l *looks) change(index int) *corev1.Pod {
	pod := l.pods[index].DeepCopy()
	pod.ResourceVersion += "1"
	l.pods[index] = pod
	return pod
}

func (l *looks) scope() *scope {
	s := l.newScope(l.cluster)
	s.controllerPod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.AnnotationTemplateHash: desired.ControllerHash(s.want)}},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
	}
	s.takePods(l.pods)
	return s
}

func TestLargeClustersAreAskedForWhatMoves(t *testing.T) {
	l := newLooks(t, manyNodes+1)
	_, asked := l.look()
	require.Equal(t, []string{"all"}, asked)
	_, asked = l.look()
	require.Equal(t, []string{"all"}, asked, "no pod was seen before")
	s, asked := l.look()
	require.Empty(t, asked)
	require.Len(t, s.slurmNodes, manyNodes+1)
	require.False(t, s.fresh("cpu-7"))

	l.change(7)
	l.nodes["cpu-7"] = slurm.Node{Name: "cpu-7", State: []string{"DOWN"}, Reason: contract.ReasonPrefix + "pod lost"}
	s, asked = l.look()
	require.Equal(t, []string{"cpu-7"}, asked)
	require.True(t, s.fresh("cpu-7") && !s.fresh("cpu-8"))
	require.True(t, s.slurmNodes[s.slurmNode("cpu-7")].Down())

	delete(l.nodes, "cpu-7")
	s, asked = l.look()
	require.Equal(t, []string{"cpu-7"}, asked, "it is on its way out")
	require.Equal(t, -1, s.slurmNode("cpu-7"))
	require.Equal(t, "cpu-99", s.slurmNodes[s.slurmNode("cpu-99")].Name)

	l.nodes["cpu-7"] = slurm.Node{Name: "cpu-7", State: []string{"IDLE"}}
	s, asked = l.look()
	require.Equal(t, []string{"cpu-7"}, asked, "its pod is there")
	require.GreaterOrEqual(t, s.slurmNode("cpu-7"), 0)

	l.clock.Step(l.PollInterval)
	_, asked = l.look()
	require.Equal(t, []string{"all"}, asked)
}

func TestANodeThatVanishesIsAskedForTwice(t *testing.T) {
	l := newLooks(t, manyNodes+1)
	l.look()
	l.look()
	l.change(7)
	delete(l.nodes, "cpu-7")
	_, asked := l.look()
	require.Equal(t, []string{"cpu-7", "all"}, asked)
}

func TestNoAnswerMeansNothing(t *testing.T) {
	l := newLooks(t, manyNodes+1)
	l.look()
	l.look()
	l.change(7)
	l.fails = errors.New("away")
	s, _ := l.look()
	require.False(t, s.known)
	require.Empty(t, s.slurmNodes)
	l.fails = nil
	s, asked := l.look()
	require.True(t, s.known)
	require.Equal(t, []string{"all"}, asked)
}

func TestSmallClustersAreAskedForAll(t *testing.T) {
	l := newLooks(t, 3)
	l.look()
	s, asked := l.look()
	require.Equal(t, []string{"all"}, asked)
	require.True(t, s.fresh("cpu-0"))
}

func TestRest(t *testing.T) {
	l := newLooks(t, 3)
	rests := func() bool {
		l.Helper()
		m := l.memories.of(types.NamespacedName{}, "cluster")
		m.keys, m.keysSeen = map[string][]byte{}, l.clock.Now()
		before := l.scope().rests(t.Context())
		s, _ := l.look()
		s.rememberRest(false)
		return before
	}
	require.False(t, rests(), "it was never looked at")
	require.True(t, rests())
	l.clock.Step(l.PollInterval)
	require.True(t, rests())

	l.change(1)
	require.True(t, rests(), "nothing that counts has changed")
	l.change(1).Spec.NodeName = "another"
	require.False(t, rests(), "a pod has changed")
	require.True(t, rests())
	l.nodes["cpu-1"] = slurm.Node{Name: "cpu-1", State: []string{"DOWN"}}
	require.True(t, rests(), "nodes are seldom asked for")
	l.clock.Step(restTrust)
	l.change(1).Spec.NodeName = "a third"
	require.False(t, rests())
	l.nodes["cpu-1"] = slurm.Node{Name: "cpu-1", State: []string{"IDLE"}}
	l.clock.Step(restTrust)
	require.False(t, rests(), "a node has changed")
	require.True(t, rests())
	l.jobs = []slurm.Job{{State: []string{"RUNNING"}}}
	l.nodes["cpu-1"] = slurm.Node{Name: "cpu-1", State: []string{"ALLOCATED"}}
	require.False(t, rests(), "a job has begun")
	require.False(t, rests(), "jobs end")
	l.nodes["cpu-1"], l.jobs = slurm.Node{Name: "cpu-1", State: []string{"IDLE"}}, nil
	require.False(t, rests())
	require.True(t, rests())
	l.clock.Step(restTime)
	require.False(t, rests(), "what is not watched is looked at from time to time")
	l.fails = errors.New("away")
	require.False(t, rests())
}

// TestRecallEnds: the operator was away while a slurmd ended and was started again.
func TestRecallEnds(t *testing.T) {
	for began, lost := range map[int64]bool{990: true, 1001: false} {
		l := newLooks(t, 1)
		l.nodes["cpu-0"] = slurm.Node{Name: "cpu-0", State: []string{"ALLOCATED"}}
		job := slurm.JobInfo{JobState: []string{"RUNNING"}, StartTime: slurm.Time{Set: true, Number: began}}
		require.NoError(t, json.Unmarshal([]byte(`{"nodes":{"allocation":[{"name":"cpu-0"}]}}`), &job.Resources))
		l.infos = []slurm.JobInfo{job}
		l.pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: contract.ContainerSlurmd, RestartCount: 2,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1000, 0)}},
		}}
		l.fails = errors.New("away")
		s, _ := l.look()
		s.plan(t.Context())

		l.fails, l.failsInfos = nil, errors.New("away")
		s, _ = l.look()
		s.plan(t.Context())
		require.False(t, s.lost(s.slurmdPods[0]), "nobody knows yet")

		l.failsInfos = nil
		s, _ = l.look()
		s.plan(t.Context())
		require.Equal(t, lost, s.lost(s.slurmdPods[0]), "a job began at %d", began)
	}
}

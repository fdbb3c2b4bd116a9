package nodes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

const fewNodes = `{"nodes": [
	{"name": "cpu-10", "state": ["IDLE", "DRAIN", "DYNAMIC_NORM"], "reason": "bad disk: sector 5 cannot be read, and neither can any other of this device", "cpus": 64, "real_memory": 262144},
	{"name": "cpu-2", "state": ["MIXED", "DYNAMIC_NORM"], "cpus": 64, "alloc_cpus": 7, "real_memory": 262144, "alloc_memory": 32768, "partitions": ["main"], "features": ["cpu"], "version": "24.11.5", "cpu_load": 712}
]}`

func pod(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "demo-" + node, Namespace: clitest.Namespace, CreationTimestamp: clitest.Ago(3 * time.Hour),
			Labels: map[string]string{contract.LabelCluster: "demo", contract.LabelRole: contract.RoleSlurmd, contract.LabelNode: node},
		},
		Spec: corev1.PodSpec{NodeName: "worker-1", Containers: []corev1.Container{
			{Name: contract.ContainerSlurmd, Args: []string{"slurmd", "--cloud", "--gres=gpu:2"}},
		}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.244.0.9",
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "munged", Ready: true}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: contract.ContainerSlurmd, Ready: true, RestartCount: 1,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					FinishedAt: clitest.Ago(11 * time.Minute), Reason: "Error", ExitCode: 2,
					Message: "slurmd-shim: the memory limit is 100 MiB, and a node with less than 128 MiB could not run a job\n",
				}},
			}},
		},
	}
}

func world(t *testing.T, text map[string]string, pods ...runtime.Object) (*clitest.World, *clitest.Answers) {
	answers := &clitest.Answers{Text: text}
	return clitest.New(t, answers, []runtime.Object{clitest.Cluster()}, pods...), answers
}

func TestNodes(t *testing.T) {
	for name, test := range map[string]struct{ args, scontrol string }{
		"table.txt":  {"demo", fewNodes},
		"gpus.txt":   {"demo", clitest.File(t, "../slurm/testdata/24.11-nodes.json")},
		"wide.txt":   {"demo -o wide", fewNodes},
		"name.txt":   {"demo -o name", fewNodes},
		"nodes.json": {"demo -o json", fewNodes},
		"nodes.yaml": {"demo -o yaml", fewNodes},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := world(t, map[string]string{"scontrol show nodes": test.scontrol}, pod("cpu-2"))
			require.NoError(t, clitest.Run(t, Command(w.Env), strings.Fields(test.args)...))
			clitest.Golden(t, name, w.Out.String())
		})
	}
	clitest.Fits(t, clitest.File(t, "testdata/table.txt"))
	clitest.Fits(t, clitest.File(t, "testdata/gpus.txt"))
}

func TestNone(t *testing.T) {
	w, _ := world(t, map[string]string{"scontrol": `{"nodes": []}`})
	require.NoError(t, clitest.Run(t, Command(w.Env), "demo"))
	assert.Equal(t, "demo has no nodes.\n", w.ErrOut.String())
}

const inspected = `Granted  CPU quota      8 CPUs
         cpuset         1-3
         memory limit   1024 MiB
Machine  sockets        1
         cores          3
         online CPUs    3
         NUMA nodes     1
         memory         15625 MiB
Slurm    CPUs           2
         shape          1 board x 1 sockets x 2 cores x 1 threads
         memory         992 MiB
         reserved CPUs  none
         gres           none
Warning: the CPU limit of 0.1 is rounded up: jobs see 1 CPU and get 10% of it, which is not much
`

const oneNode = `{"nodes": [{"name": "cpu-0", "state": ["DOWN", "DRAIN", "DYNAMIC_NORM"], "cpus": 2, "alloc_cpus": 1, "real_memory": 992, "alloc_memory": 480,
	"boards": 1, "sockets": 1, "cores": 2, "threads": 1, "cpu_load": 52, "features": ["cpu", "avx2"], "partitions": ["main", "long"], "gres": "gpu:2", "gres_used": "gpu:1",
	"reason": "slurmcluster: its machine is cordoned, and it leaves when its jobs have ended", "version": "26.05.5"}]}`

func TestDescribe(t *testing.T) {
	running := ""
	for job := range strings.Lines(clitest.File(t, "../slurm/testdata/26.05-jobs.txt")) {
		if strings.Contains(job, "RUNNING") {
			running += job
		}
	}
	all := map[string]string{
		"scontrol show nodes cpu-0 --json": oneNode, "squeue": running,
		"slurmd-shim inspect": inspected, "slurmd-shim inspect --gres=gpu:2 --output=json": `{"node": {"cpus": 2}, "warnings": []}`,
	}
	leaving := pod("cpu-0")
	leaving.Status.Phase, leaving.Spec.NodeName, leaving.Status.ContainerStatuses, leaving.Status.InitContainerStatuses = corev1.PodPending, "", nil, nil
	leaving.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available"}}
	for name, test := range map[string]struct {
		args string
		text map[string]string
		pods []runtime.Object
	}{
		"describe.txt": {"demo cpu-0", all, []runtime.Object{pod("cpu-0")}},
		"no-pod.txt":   {"demo cpu-0", all, nil},
		"no-room.txt":  {"demo cpu-0", map[string]string{"scontrol": `{"nodes": []}`}, []runtime.Object{leaving}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := world(t, test.text, test.pods...)
			require.NoError(t, clitest.Run(t, DescribeCommand(w.Env), strings.Fields(test.args)...))
			clitest.Golden(t, name, w.Out.String())
			clitest.Fits(t, w.Out.String())
		})
	}
	for format, want := range map[string]string{"json": `"cpus": 2`, "yaml": "cpus: 2"} {
		w, answers := world(t, all, pod("cpu-0"))
		require.NoError(t, clitest.Run(t, DescribeCommand(w.Env), "demo", "cpu-0", "-o", format))
		assert.Contains(t, w.Out.String(), want)
		assert.Contains(t, answers.Asked, "demo-cpu-0: slurmd-shim inspect --gres=gpu:2 --output=json")
	}
}

// Each of the three sources may fail alone.
func TestDescribeWhatAnswers(t *testing.T) {
	runner := clitest.Runner(func(_ context.Context, target podexec.Target, _ []string, streams podexec.Streams) error {
		if target.Pod == "demo-controller-0" {
			return errors.New("connection refused")
		}
		_, err := streams.Err.Write([]byte("slurmd-shim: no node can be made of this"))
		return errors.Join(err, errors.New("exit code 2"))
	})
	w := clitest.New(t, runner, []runtime.Object{clitest.Cluster()}, pod("cpu-0"))
	require.NoError(t, clitest.Run(t, DescribeCommand(w.Env), "demo", "cpu-0"))
	clitest.Golden(t, "nothing.txt", w.Out.String())
	clitest.Fits(t, w.Out.String())
}

func TestDescribeUnknown(t *testing.T) {
	w, _ := world(t, map[string]string{"scontrol": `{"nodes": []}`})
	assert.ErrorContains(t, clitest.Run(t, DescribeCommand(w.Env), "demo", "cpu-9"),
		`demo has no node "cpu-9"; see: kubectl slurmcluster nodes demo -n team-a`)
}

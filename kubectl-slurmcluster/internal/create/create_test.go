package create

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

func run(w *clitest.World, args ...string) error {
	cmd := Command(w.Env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.Execute()
}

func TestDryRunGolden(t *testing.T) {
	tests := map[string][]string{
		"small":      {"demo"},
		"autoscaled": {"demo", "--nodes", "0-10", "--node-idle-timeout", "2m"},
		"classy":     {"demo", "--class", "small", "--home-size", "10Gi", "--keep-home", "--all-or-nothing"},
		"full": {
			"demo", "--nodes", "4", "--cpus", "2", "--memory", "4Gi", "--node-set", "big", "--image", "registry.example/slurm:1",
			"--features", "avx2,fast", "--storage", "2Gi", "--storage-class", "ssd", "--volume", "home:/home/user",
			"--volume", "data.2024:/data:ro", "--image-volume", "registry.example:5000/tools:2:/images/tools", "--config", "MaxJobCount=500", "--config", "SchedulerParameters=a=1,b", "--ttl", "2d", "--idle-timeout", "30m",
		},
		"nodes": {
			"demo", "--nodes", "8", "--cpus", "8", "--memory", "32Gi", "--tmp", "20Gi", "--task-binding", "cores", "--runtime-class", "nvidia",
			"--priority-class", "batch", "--devices", "nvidia.com/gpu=2", "--devices", "xilinx.com/u250=1:fpga:/dev/xclmgmt*:/dev/dri/renderD*",
			"--devices", "example.com/nic", "--node-selector", "pool=gpu", "--node-selector", "example.com/zone=a",
			"--toleration", "nvidia.com/gpu=present:NoSchedule", "--toleration", "batch", "--toleration", "spot:NoExecute", "--toleration", "empty=",
			"--max-unavailable", "25%", "--drain-timeout", "12h", "--seccomp-profile", "profiles/user-namespaces.json",
		},
		"node-sets": {
			"demo", "--nodes", "2", "--max-unavailable", "2", "--drain-timeout", "0",
			"--add-nodes", "name=gpu,nodes=0-4,node-idle-timeout=2m,cpus=8,memory=16Gi,cpu-request=4,memory-request=8Gi,tmp=10Gi,devices=nvidia.com/gpu=1+a.b/c=2:fpga:/dev/c*," +
				"features=a100+nvlink,runtime-class=nvidia,priority-class=batch,node-selector=pool=gpu+zone=a,toleration=gpu=yes:NoSchedule+spot," +
				"max-unavailable=10%,drain-timeout=1d,seccomp-profile=unconfined",
			"--add-nodes", "name=big,task-binding=cores,cpus=64",
		},
		"partitions": {
			"demo", "--add-nodes", "name=gpu", "--partition", "name=day,node-sets=cpu+gpu,default,max-time=1-0,default-time=60",
			"--partition", "name=night,node-sets=gpu,max-nodes=4,priority-tier=10,state=down",
		},
		"auth":    {"demo", "--auth", "slurm", "--isolation", "isolated", "--egress", "open"},
		"network": {"demo", "--auth", "munge", "--egress", "restricted", "--isolation", "none"},
		"set": {
			"demo", "--nodes", "0-10", "--image", "registry.example/slurm:1", "--home-size", "10Gi", "--egress", "restricted",
			"--set", "nodeSets[0].template.labels.team=a,nodeSets[0].autoscale.startTimeout=10m", "--set", "nodeSets[0].template.labels.cost=42",
			"--set", "nodeSets[1].name=big,nodeSets[1].resources.cpu=64,nodeSets[1].resources.memory=256Gi",
			"--set", "partitions[0].name=day,partitions[0].nodeSets={cpu,big}", "--set", "partitions[0].maxTime=60", "--set", "suspend=true",
			"--set", "home.accessMode=ReadWriteOnce", "--set", "network.to[0].ipBlock.cidr=192.0.2.0/24", "--set", "image=registry.example/slurm:2",
			"--set", `controller.template.annotations.example\.com/owner=true`, "--set", "nodeSets[0].maxUnavailable=2", "--set", "nodeSets[1].maxUnavailable=50%",
		},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			w := clitest.New(t, nil, nil)
			require.NoError(t, run(w, append(args, "--dry-run=client", "-o", "yaml")...))
			clitest.Golden(t, name+".yaml", w.Out.String())
			assert.Empty(t, w.Fake.Actions(), "a dry run on the client sends nothing")
		})
	}
}

func TestOutput(t *testing.T) {
	for output, want := range map[string]string{"": "slurmcluster.slurmcluster.dev/demo created\n", "name": "slurmcluster.slurmcluster.dev/demo\n"} {
		w := clitest.New(t, nil, nil)
		require.NoError(t, run(w, "demo", "-o", output))
		assert.Equal(t, want, w.Out.String())
	}
	w := clitest.New(t, nil, nil)
	require.NoError(t, run(w, "demo", "--dry-run=server"))
	assert.Equal(t, "slurmcluster.slurmcluster.dev/demo created (server dry run)\n", w.Out.String())
	created := w.Fake.Actions()[0].(clienttesting.CreateActionImpl)
	assert.Equal(t, []string{metav1.DryRunAll}, created.CreateOptions.DryRun)
}

func TestClass(t *testing.T) {
	class := func(name string, isDefault bool, sets ...v1alpha1.NodeSet) v1alpha1.SlurmClusterClass {
		return v1alpha1.SlurmClusterClass{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.SlurmClusterClassSpec{Default: isDefault, Defaults: v1alpha1.ClassDefaults{NodeSets: sets}}}
	}
	set := v1alpha1.NodeSet{Name: "small"}
	for name, test := range map[string]struct {
		classes []v1alpha1.SlurmClusterClass
		args    []string
		sets    int
		class   string
		err     string
	}{
		"no classes":                   {nil, nil, 1, "", ""},
		"the default has nodes":        {[]v1alpha1.SlurmClusterClass{class("a", true, set)}, nil, 0, "", ""},
		"the default has none":         {[]v1alpha1.SlurmClusterClass{class("a", true)}, nil, 1, "", ""},
		"none is the default":          {[]v1alpha1.SlurmClusterClass{class("a", false, set)}, nil, 1, "", ""},
		"named":                        {[]v1alpha1.SlurmClusterClass{class("a", false, set)}, []string{"--class", "a"}, 0, "a", ""},
		"named, with nodes of mine":    {[]v1alpha1.SlurmClusterClass{class("a", false, set)}, []string{"--class", "a", "--nodes", "2"}, 1, "a", ""},
		"with devices of mine":         {[]v1alpha1.SlurmClusterClass{class("a", true, set)}, []string{"--devices", "nvidia.com/gpu=1"}, 1, "", ""},
		"with nodes added":             {[]v1alpha1.SlurmClusterClass{class("a", true, set)}, []string{"--add-nodes", "name=gpu"}, 2, "", ""},
		"with nodes set":               {[]v1alpha1.SlurmClusterClass{class("a", true, set)}, []string{"--set", "nodeSets[0].template.labels.team=a"}, 1, "", ""},
		"with another field set":       {[]v1alpha1.SlurmClusterClass{class("a", true, set)}, []string{"--set", "suspend=true"}, 0, "", ""},
		"with partitions of its nodes": {[]v1alpha1.SlurmClusterClass{class("a", true, set)}, []string{"--partition", "name=day,node-sets=small"}, 0, "", ""},
		"not there":                    {[]v1alpha1.SlurmClusterClass{class("b", false), class("a", false)}, []string{"--class", "x"}, 0, "", "--class x: there is no such SlurmClusterClass; choose one of a, b"},
		"no such name":                 {nil, []string{"--class", "X y"}, 0, "", `--class "X y" is not the name of a class; see: kubectl get slurmclusterclasses`},
	} {
		t.Run(name, func(t *testing.T) {
			w := clitest.New(t, nil, nil)
			w.Classes = func(context.Context) ([]v1alpha1.SlurmClusterClass, error) { return test.classes, nil }
			err := run(w, append([]string{"demo"}, test.args...)...)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			created := w.Fake.Actions()[0].(clienttesting.CreateAction).GetObject().(*v1alpha1.SlurmCluster)
			require.Len(t, created.Spec.NodeSets, test.sets)
			require.Equal(t, test.class, created.Spec.ClassName)
			require.Equal(t, map[string]string{contract.AnnotationOwner: clitest.User}, created.Annotations)
		})
	}
}

func TestOperatorNotInstalled(t *testing.T) {
	w := clitest.New(t, nil, nil)
	w.Fake.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewGenericServerResponse(404, "post", v1alpha1.SchemeGroupVersion.WithResource(cli.Resource).GroupResource(),
			"", "404 page not found", 0, true)
	})
	err := run(w, "demo")
	assert.EqualError(t, err, "the SlurmCluster operator is not installed in this Kubernetes; install it with: kubectl slurmcluster install")
}

func TestWait(t *testing.T) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady, ObservedGeneration: 1}
	starting := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonStarting, Message: "pods start", ObservedGeneration: 1}
	stale := ready
	stale.ObservedGeneration = 7
	degraded := func(reason string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: "it is so", ObservedGeneration: 1}
	}
	tests := map[string]struct {
		states [][]metav1.Condition
		out    string
		errOut string
		err    string
	}{
		"ready": {states: [][]metav1.Condition{{starting}, {starting}, {ready}}, out: `ready: 2 nodes, 4 CPUs, in 0\.\ds\n$`, errOut: "demo: Starting: pods start\n"},
		"heals": {states: [][]metav1.Condition{{degraded(v1alpha1.ReasonUnschedulable)}, {ready}}, out: "ready", errOut: "demo: Unschedulable: it is so\n"},
		"hopeless": {states: [][]metav1.Condition{{starting, degraded(v1alpha1.ReasonImageUnavailable)}},
			err: `SlurmCluster "demo" cannot become ready: ImageUnavailable: it is so`},
		"time-out": {states: [][]metav1.Condition{{degraded(v1alpha1.ReasonUnschedulable)}},
			err: `SlurmCluster "demo" is not ready after 2s: Unschedulable: it is so`},
		"about an older version": {states: [][]metav1.Condition{{stale}},
			err: `SlurmCluster "demo" is not ready after 2s: the operator has not reported on it yet`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := clitest.New(t, nil, nil)
			go play(t, w, test.states)
			err := run(w, "demo", "--wait", "--timeout", "2s")
			if test.err != "" {
				assert.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Regexp(t, test.out, w.Out.String())
			assert.Contains(t, w.ErrOut.String(), test.errOut)
		})
	}
}

// play is the operator: it gives the new cluster one state after the other.
func play(t *testing.T, w *clitest.World, states [][]metav1.Condition) {
	resource := v1alpha1.SchemeGroupVersion.WithResource(cli.Resource)
	nodes, cpus := int32(2), int32(4)
	<-w.Watched
	for _, conditions := range states {
		object, err := w.Tracker.Get(resource, clitest.Namespace, "demo")
		if !assert.NoError(t, err) {
			return
		}
		cluster := object.DeepCopyObject().(*v1alpha1.SlurmCluster)
		cluster.Generation = 1
		cluster.Status = v1alpha1.SlurmClusterStatus{ReadyNodes: &nodes, CPUs: &cpus, Conditions: conditions}
		assert.NoError(t, w.Tracker.Update(resource, cluster, clitest.Namespace))
	}
}

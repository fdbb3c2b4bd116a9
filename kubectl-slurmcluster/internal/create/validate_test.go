package create

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

func TestRefused(t *testing.T) {
	tests := map[string]string{
		"":                                      "give one name",
		"a b":                                   "give one name",
		"my.cluster":                            `the name "my.cluster" cannot be used`,
		"Demo":                                  `the name "Demo" cannot be used`,
		"1demo":                                 `the name "1demo" cannot be used`,
		strings.Repeat("a", 41):                 "more than 40 characters",
		"demo --cpus 100m":                      "--cpus 100m is too little: it must be at least 1",
		"demo --cpus many":                      `--cpus "many" is not a quantity`,
		"demo --memory 0":                       "--memory 0 is too little",
		"demo --memory 512m":                    "m means thousandths",
		"demo --memory 512MB":                   `--memory "512MB" is not a quantity`,
		"demo --nodes -1":                       "--nodes -1: give a number of nodes, such as 4",
		"demo --nodes many":                     "such as 0-10",
		"demo --nodes 99999999999":              "give a number of nodes",
		"demo --nodes 4-2":                      "--nodes 4-2: the second number is the most nodes",
		"demo --nodes 0-0":                      "at least 1",
		"demo --nodes 0-5001":                   "--nodes 0-5001: a cluster has 0 to 5000 nodes",
		"demo --nodes 2 --node-idle-timeout 5m": "without --nodes MIN-MAX",
		"demo --nodes 0-2 --node-idle-timeout=-5m": `--node-idle-timeout: "-5m" is not a time; write one above zero`,
		"demo --ttl 0":                                                         `--ttl: "0" is not a time`,
		"demo --ttl=-8h":                                                       "write one above zero",
		"demo --idle-timeout soon":                                             `--idle-timeout: "soon" is not a time`,
		"demo --nodes 5001":                                                    "--nodes 5001",
		"demo --nodes 2 --nodes 3":                                             "it is given twice",
		"demo --wait --wait":                                                   "it is given twice",
		"demo --node-set gpu-1":                                                "ends in '-' and a number",
		"demo --node-set login":                                                "is taken",
		"demo --node-set " + "seventeen-letters":                               "more than 16",
		"demo --image bad\\image":                                              "is not an image",
		"demo --features a,a":                                                  "twice",
		"demo --features a=b":                                                  "cannot be used",
		"demo --storage 0":                                                     "--storage 0 is too little",
		"demo --storage-class A_b":                                             "not the name of a storage class",
		"demo --volume home":                                                   "is not an absolute path",
		"demo --volume :/data":                                                 `"" is not the name of a claim`,
		"demo --volume home:data":                                              "is not an absolute path",
		"demo --volume home:/data/../etc":                                      "is not an absolute path",
		"demo --volume home:/etc/x":                                            "keeps its own files",
		"demo --volume a:/d --volume b:/d":                                     "mounts /d twice",
		"demo --config MaxJobCount":                                            "write KEY=VALUE",
		"demo --config MaxJobCount=":                                           "one line of 1 to 1024",
		"demo --config A=b#c":                                                  "without '#'",
		"demo --config slurmUSER=root":                                         "the operator sets this parameter itself",
		"demo --config Aa=1 --config aA=2":                                     "given twice",
		"demo --tmp 0":                                                         "--tmp 0 is too little: it must be more than nothing",
		"demo --devices gpu":                                                   `--devices "gpu": "gpu" is not a device of Kubernetes; write it like nvidia.com/gpu=1`,
		"demo --devices a.b/gpu=0":                                             `--devices "a.b/gpu=0": "0" is not a number from 1 to 1024`,
		"demo --devices a.b/gpu=":                                              `"" is not a number from 1 to 1024`,
		"demo --devices a.b/c --devices a.b/c":                                 "--devices a.b/c is given twice",
		"demo --devices a.b/c:C":                                               `"C" cannot be its name in Slurm`,
		"demo --devices a.b/c:":                                                `"" cannot be its name in Slurm`,
		"demo --devices a.b/c:shard":                                           "shard has a meaning of its own in Slurm",
		"demo --devices a.b/c:x:y":                                             "it has two names in Slurm, x and y",
		"demo --devices a.b/c:/tmp/x":                                          `"/tmp/x" does not name device files`,
		"demo --devices a.b/c" + strings.Repeat(":/dev/x", 9):                  "it has 9 patterns of files; 8 is the most",
		"demo" + strings.Repeat(" --devices a.b/c", 9):                         "--devices is given 9 times; 8 is the most",
		"demo --task-binding sockets":                                          "--task-binding sockets: choose one of none, cores",
		"demo --task-binding cores --cpus 1500m":                               "--task-binding cores needs a whole number of CPUs; --cpus 1500m is none",
		"demo --task-binding cores --cpu-request 1":                            "leave out --cpu-request and --memory-request",
		"demo --task-binding cores --nodes 0-4":                                "needs a fixed number of nodes",
		"demo --runtime-class A_b":                                             `--runtime-class "A_b" is not the name of a RuntimeClass; see: kubectl get runtimeclasses`,
		"demo --seccomp-profile /etc/x":                                        `"/etc/x" is not a file below the kubelet's directory`,
		"demo --image-volume busybox":                                          "write IMAGE:/PATH",
		"demo --image-volume busybox:/etc/x":                                   "keeps its own files",
		"demo --image-volume -x:/data":                                         `--image-volume "-x"`,
		"demo --priority-class A_b":                                            `--priority-class "A_b" is not the name of a PriorityClass`,
		"demo --node-selector gpu":                                             `--node-selector "gpu": write KEY=VALUE`,
		"demo --node-selector -a=b":                                            "write KEY=VALUE",
		"demo --node-selector a=-b":                                            "write KEY=VALUE",
		"demo --node-selector a=b --node-selector a=c":                         "--node-selector a is given twice",
		"demo" + strings.Repeat(" --node-selector a=b", 33):                    "--node-selector is given 33 times; 32 is the most",
		"demo --toleration :NoSchedule":                                        `--toleration ":NoSchedule": write KEY[=VALUE][:EFFECT]`,
		"demo --toleration a=b=c":                                              "write KEY[=VALUE][:EFFECT]",
		"demo --toleration a=b:Never":                                          `--toleration "a=b:Never": "Never" is not an effect; choose one of NoSchedule, PreferNoSchedule, NoExecute`,
		"demo --toleration a:":                                                 `"" is not an effect`,
		"demo" + strings.Repeat(" --toleration a", 33):                         "--toleration is given 33 times; 32 is the most",
		"demo --max-unavailable 0":                                             `--max-unavailable "0": give a number of nodes`,
		"demo --max-unavailable some%":                                         "such as 25%",
		"demo --drain-timeout later":                                           `--drain-timeout: "later" is not a time`,
		"demo --add-nodes cpus=2":                                              `--add-nodes "cpus=2": it has no name; give it one, such as name=gpu`,
		"demo --add-nodes name=gpu,cpu=2":                                      `--add-nodes gpu: "cpu" is none of its keys, which are cpu-request, cpus, devices, drain-timeout, features, max-unavailable, `,
		"demo --add-nodes name=gpu,cpus":                                       "--add-nodes gpu: cpus has no value; write cpus=VALUE",
		"demo --add-nodes name=gpu,":                                           `--add-nodes gpu: "" is none of its keys`,
		"demo --add-nodes name=gpu,cpus=1,cpus=2":                              `--add-nodes gpu: cpus "2": it is given twice`,
		"demo --add-nodes name=gpu,cpus=100m":                                  "--add-nodes gpu: cpus 100m is too little: it must be at least 1",
		"demo --add-nodes name=gpu,nodes=4,node-idle-timeout=1m":               "--add-nodes gpu: node-idle-timeout 1m: without nodes MIN-MAX",
		"demo --add-nodes name=gpu,cpu-request=2":                              "--add-nodes gpu: cpu-request 2 is more than cpus 1",
		"demo --add-nodes name=gpu,features=a+b+a":                             `--add-nodes gpu: features has "a" twice`,
		"demo --add-nodes name=login":                                          `--add-nodes login: name "login" is taken`,
		"demo --add-nodes name=cpu":                                            "--add-nodes cpu: there is a node set of this name already",
		"demo --add-nodes name=gpu --add-nodes name=gpu":                       "--add-nodes gpu: there is a node set of this name already",
		"demo" + strings.Repeat(" --add-nodes name=gpu", 12):                   "--add-nodes is given 12 times; a cluster has 12 node sets at most, and one has flags of its own",
		"demo --partition max-time=1":                                          `--partition "max-time=1": it has no name; give it one, such as name=day`,
		"demo --partition name=1st":                                            `--partition 1st: name "1st" cannot be used`,
		"demo --partition name=Default":                                        `name "Default" is taken by Slurm`,
		"demo --partition name=day,time=1":                                     `--partition day: "time" is none of its keys, which are default, default-time, max-nodes, max-time, name, node-sets, priority-tier, state`,
		"demo --partition name=day,default=perhaps":                            `--partition day: default "perhaps"`,
		"demo --partition name=day,max-time=1d":                                `--partition day: max-time "1d" is not a time of Slurm`,
		"demo --partition name=day,default-time=1d":                            `--partition day: default-time "1d" is not a time of Slurm`,
		"demo --partition name=day,max-nodes=0":                                `--partition day: max-nodes "0" is not a number of at least 1`,
		"demo --partition name=day,priority-tier=99999":                        `--partition day: priority-tier "99999" is not a number from 0 to 65533`,
		"demo --partition name=day,state=OPEN":                                 "--partition day: state OPEN: choose one of up, down, drain, inactive",
		"demo --partition name=day,node-sets=":                                 `--partition day: node-sets "" is not the name of a node set`,
		"demo --partition name=day,node-sets=cpu+cpu":                          `--partition day: node-sets has "cpu" twice`,
		"demo --partition name=day,node-sets=" + strings.Repeat("cpu+", 17):    "node-sets has 18 names; 16 is the most",
		"demo --partition name=day --partition name=day":                       "--partition day: there is a partition of this name already",
		"demo --partition name=day,default --partition name=night,default":     "--partition night: day is the default already",
		"demo" + strings.Repeat(" --partition name=day", 17):                   "--partition is given 17 times; 16 is the most",
		"demo --nodes 1 --partition name=day,node-sets=gpu":                    `partition day has node set "gpu", which there is not; choose of cpu`,
		"demo --nodes 1 --set partitions[0].name=a,partitions[0].nodeSets={b}": `partition a has node set "b", which there is not; choose of cpu`,
		"demo --auth kerberos":                                                 "--auth kerberos: choose one of munge, slurm",
		"demo --auth slurm --isolation none":                                   "--auth slurm needs --isolation isolated",
		"demo --egress closed":                                                 "--egress closed: choose one of open, restricted",
		"demo --isolation some":                                                "--isolation some: choose one of isolated, none",
		"demo --set suspend":                                                   `--set "suspend": write PATH=VALUE, such as suspend=true`,
		"demo --set =":                                                         "write PATH=VALUE",
		"demo --set nodeSets[x].name=a":                                        "write PATH=VALUE",
		"demo --set suspended=true":                                            "--set suspended=true: there is no field suspended in the spec of a SlurmCluster; see: kubectl explain slurmcluster.spec --recursive",
		"demo --set nodesets[0].name=a":                                        "there is no field nodesets",
		"demo --set nodeSets[0].template.label.a=b":                            "there is no field nodeSets[0].template.label in",
		"demo --set partitions[1].name=a":                                      "--set partitions[1].name=a: there is no partitions[0]; a list begins with [0]",
		"demo --set partitions[0].nodeSets[1]=a":                               "there is no partitions[0].nodeSets[0]",
		"demo --set suspend=perhaps":                                           "--set suspend=perhaps: field suspend takes no string; see: kubectl explain",
		"demo --set nodeSets[0].replicas=2,nodeSets[0].template.labels.a=1":    "field nodeSets.template.labels takes no number; if it is meant as text, give it a --set of its own",
		"demo --set lifecycle.ttl=2":                                           "field lifecycle.ttl takes no number",
		"demo --set lifecycle.ttl=soon":                                        `invalid duration "soon"`,
		"demo --partition name=1,state=open":                                   `--partition 1: state open: choose one of`,
		"demo --set nodeSets.name=a":                                           "--set nodeSets.name=a: the path does not lead to a field",
		"demo --set nodeSets[0].resources.cpu=many":                            "--set nodeSets[0].resources.cpu=many: quantities must match",
		"demo --dry-run=maybe":                                                 "Invalid dry-run value",
		"demo --no-such-flag":                                                  "unknown flag",
	}
	for args, want := range tests {
		t.Run(args, func(t *testing.T) {
			w := clitest.New(t, nil, nil)
			assert.ErrorContains(t, run(w, strings.Fields(args)...), want)
			assert.Empty(t, w.Fake.Actions(), "nothing is sent before everything is checked")
		})
	}
}

func TestRequests(t *testing.T) {
	options := func(cpu, memory string) *Options {
		o := NewOptions(nil)
		o.Name, o.NodeSet.CPURequest, o.NodeSet.MemoryRequest = "demo", cpu, memory
		return o
	}
	o := options("10m", "64Mi")
	require.NoError(t, o.Validate())
	requests := o.nodeSets[0].Resources.Requests
	require.Equal(t, "10m 64Mi", requests.CPU.String()+" "+requests.Memory.String())

	o = options("", "")
	require.NoError(t, o.Validate())
	require.Nil(t, o.nodeSets[0].Resources.Requests.CPU)

	require.ErrorContains(t, options("2", "").Validate(), "--cpu-request 2 is more than --cpus 1")
	require.ErrorContains(t, options("", "2Gi").Validate(), "--memory-request 2Gi is more than --memory 1Gi")
	require.ErrorContains(t, options("-1", "").Validate(), "zero or more")
	require.ErrorContains(t, options("some", "").Validate(), "not a quantity")
}

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
		"demo --nodes 0-2 --node-idle-timeout=-5m": "not negative",
		"demo --ttl 0":                           `--ttl: "0" is not a time`,
		"demo --ttl=-8h":                         "write one above zero",
		"demo --idle-timeout soon":               `--idle-timeout: "soon" is not a time`,
		"demo --nodes 5001":                      "--nodes 5001",
		"demo --nodes 2 --nodes 3":               "it is given twice",
		"demo --wait --wait":                     "it is given twice",
		"demo --node-set gpu-1":                  "ends in '-' and a number",
		"demo --node-set login":                  "is taken",
		"demo --node-set " + "seventeen-letters": "more than 16",
		"demo --image bad\\image":                "is not an image",
		"demo --features a,a":                    "twice",
		"demo --features a=b":                    "cannot be used",
		"demo --storage 0":                       "--storage 0 is too little",
		"demo --storage-class A_b":               "not the name of a storage class",
		"demo --volume home":                     "is not an absolute path",
		"demo --volume :/data":                   `"" is not the name of a claim`,
		"demo --volume home:data":                "is not an absolute path",
		"demo --volume home:/data/../etc":        "is not an absolute path",
		"demo --volume home:/etc/x":              "keeps its own files",
		"demo --volume a:/d --volume b:/d":       "mounts /d twice",
		"demo --config MaxJobCount":              "write KEY=VALUE",
		"demo --config MaxJobCount=":             "one line of 1 to 1024",
		"demo --config A=b#c":                    "without '#'",
		"demo --config slurmUSER=root":           "the operator sets this parameter itself",
		"demo --config Aa=1 --config aA=2":       "given twice",
		"demo --dry-run=maybe":                   "Invalid dry-run value",
		"demo --no-such-flag":                    "unknown flag",
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
		o.Name, o.CPURequest, o.MemoryRequest = "demo", cpu, memory
		return o
	}
	o := options("10m", "64Mi")
	require.NoError(t, o.Validate())
	requests := o.build().Spec.NodeSets[0].Resources.Requests
	require.Equal(t, "10m 64Mi", requests.CPU.String()+" "+requests.Memory.String())

	o = options("", "")
	require.NoError(t, o.Validate())
	require.Nil(t, o.build().Spec.NodeSets[0].Resources.Requests.CPU)

	require.ErrorContains(t, options("2", "").Validate(), "--cpu-request 2 is more than --cpus 1")
	require.ErrorContains(t, options("", "2Gi").Validate(), "--memory-request 2Gi is more than --memory 1Gi")
	require.ErrorContains(t, options("-1", "").Validate(), "zero or more")
	require.ErrorContains(t, options("some", "").Validate(), "not a quantity")
}

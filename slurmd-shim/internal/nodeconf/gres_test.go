package nodeconf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
)

// withGPUs is the big machine with two GPUs, one next to each socket.
func withGPUs() machine.Machine {
	m := big()
	m.GPUs = []machine.GPU{
		{File: "/dev/nvidia1", Vendor: machine.NVIDIA, Type: "a100", Near: m.Packages[1]},
		{File: "/dev/nvidia0", Vendor: machine.NVIDIA, Type: "a100", Near: m.Packages[0]},
	}
	return m
}

func TestGres(t *testing.T) {
	mixed, untyped, other := withGPUs(), withGPUs(), withGPUs()
	mixed.GPUs[0].Vendor, mixed.GPUs[0].Type, mixed.GPUs[0].Near = machine.AMD, "mi250", big().Online
	untyped.GPUs[0].Type = ""
	for i := range other.GPUs {
		other.GPUs[i].Vendor = ""
	}
	const second, first = "Name=gpu Type=a100 File=/dev/nvidia1", "Name=gpu Type=a100 File=/dev/nvidia0"
	const nvidia = " Flags=nvidia_gpu_env"
	for name, c := range map[string]struct {
		machine  machine.Machine
		limits   limits.Limits
		bind     bool
		requests []GresRequest
		gres     string
		conf     []string
		warning  string
		err      string
	}{
		"none": {machine: big()},
		"GPUs of a whole machine": {
			machine: withGPUs(), requests: []GresRequest{{Name: "gpu", Count: 2}},
			gres: "gpu:a100:2", conf: []string{second + " Cores=4-7" + nvidia, first + " Cores=0-3" + nvidia},
		},
		"GPUs with a quota": {
			machine: withGPUs(), limits: limits.Limits{QuotaCPUs: quota(4)}, requests: []GresRequest{{Name: "gpu"}},
			gres: "gpu:a100:2", conf: []string{second + nvidia, first + nvidia},
		},
		"GPUs of a bound node, one near": {
			machine: withGPUs(), limits: limits.Limits{Cpuset: cpuset.New(1, 9)}, bind: true, requests: []GresRequest{{Name: "gpu"}},
			gres: "gpu:a100:2", conf: []string{second + nvidia, first + nvidia}, // all that is offered is near
		},
		"GPUs of a bound node on both sockets": {
			machine: withGPUs(), limits: limits.Limits{Cpuset: cpuset.New(1, 9, 4, 12)}, bind: true, requests: []GresRequest{{Name: "gpu"}},
			gres: "gpu:a100:2", conf: []string{second + " Cores=4-7" + nvidia, first + " Cores=0-3" + nvidia},
		},
		"models that differ": {
			machine: mixed, requests: []GresRequest{{Name: "gpu"}}, gres: "gpu:mi250:1,gpu:a100:1",
			conf: []string{
				"Name=gpu Type=mi250 File=/dev/nvidia1 Flags=amd_gpu_env,nvidia_gpu_env",
				first + " Cores=0-3 Flags=amd_gpu_env,nvidia_gpu_env",
			},
		},
		"one of an unknown model": {
			machine: untyped, requests: []GresRequest{{Name: "gpu"}}, gres: "gpu:2",
			conf: []string{"Name=gpu File=/dev/nvidia1 Cores=4-7" + nvidia, "Name=gpu File=/dev/nvidia0 Cores=0-3" + nvidia},
		},
		"of another vendor": {
			machine: other, requests: []GresRequest{{Name: "gpu"}}, gres: "gpu:a100:2",
			conf: []string{second + " Cores=4-7 Flags=no_gpu_env", first + " Cores=0-3 Flags=no_gpu_env"},
		},
		"fewer than granted": {
			machine: withGPUs(), requests: []GresRequest{{Name: "gpu", Count: 3}},
			gres: "gpu:a100:2", conf: []string{second + " Cores=4-7" + nvidia, first + " Cores=0-3" + nvidia},
			warning: "1 of 3 devices of GRES gpu are not offered: they have no device file of their own",
		},
		"more than granted": {
			machine: withGPUs(), requests: []GresRequest{{Name: "gpu", Count: 1}},
			gres: "gpu:a100:1", conf: []string{second + " Cores=4-7" + nvidia},
			warning: "2 device files of GRES gpu are here and 1 were granted: the others are not offered",
		},
		"none asked for": {
			machine: withGPUs(), warning: "2 device files of GPUs are here and none was asked for: they are not offered",
		},
		"none there": {
			machine: big(), requests: []GresRequest{{Name: "gpu", Count: 1}},
			err: "no usable node: 1 devices of GRES gpu were asked for, and there is no device file of any; pods get those of NVIDIA's GPUs from a runtime class",
		},
		"as many as there are, none": {machine: big(), requests: []GresRequest{{Name: "gpu"}}},
		"others": {
			machine: big(), requests: []GresRequest{{Name: "fpga", Count: 2, Wanted: "/dev/f*", Files: []string{"/dev/f0", "/dev/f1"}}, {Name: "license", Count: 4}},
			gres: "fpga:2,license:4", conf: []string{"Name=fpga File=/dev/f0", "Name=fpga File=/dev/f1", "Name=license Count=4"},
		},
		"files not there": {
			machine: big(), requests: []GresRequest{{Name: "fpga", Count: 2, Wanted: "/dev/f*"}},
			err: "2 devices of GRES fpga were asked for, and there is no device file of any like /dev/f*",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, warnings, err := Derive(c.limits, c.machine, Options{Bind: c.bind, Gres: c.requests})
			if c.err != "" {
				require.ErrorIs(t, err, ErrUnusable)
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.gres, n.Gres)
			if c.conf != nil {
				c.conf = append([]string{"AutoDetect=off"}, c.conf...)
			}
			require.Equal(t, c.conf, n.GresConf)
			require.Equal(t, c.warning, strings.Join(warnings, "; "))
			require.Equal(t, c.gres != "", strings.HasSuffix(n.Conf(), " Gres="+c.gres))
		})
	}
}

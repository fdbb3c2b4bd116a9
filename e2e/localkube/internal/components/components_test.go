package components

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

func options(t *testing.T) layout.Options {
	t.Helper()
	o := layout.Options{Paths: layout.Paths{State: t.TempDir(), Run: "/run/lk", Bin: "/cache/bin"}}
	for _, dir := range []string{"config", "cni"} {
		if err := os.Mkdir(o.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestWriteConfigs(t *testing.T) {
	o := options(t)
	o.CPUManagerPolicy, o.ReservedCPUs = "static", "0"
	if err := WriteConfigs(o, Host{}); err != nil {
		t.Fatal(err)
	}
	var kubelet map[string]any
	data, err := os.ReadFile(o.Config("kubelet.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &kubelet); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cgroupRoot": "/localkube", "failCgroupV1": false,
	} {
		if kubelet[key] != want {
			t.Errorf("kubelet: %s is %v, want %v", key, kubelet[key], want)
		}
	}
}

func TestContainerdConfigFollowsHost(t *testing.T) {
	o := options(t)
	for _, test := range []struct {
		host Host
		want []string
	}{
		{Host{}, []string{`snapshotter = "native"`, "restrict_oom_score_adj = true"}},
		{Host{Overlay: true, LowerOOMScores: true}, []string{`snapshotter = "overlayfs"`, "restrict_oom_score_adj = false"}},
	} {
		config := containerdConfig(o, test.host)
		for _, want := range test.want {
			if !strings.Contains(config, want) {
				t.Errorf("%+v: no %s in\n%s", test.host, want, config)
			}
		}
	}
}

// TestGVisorIsKnown: containerd knows where gVisor will be, also in a cluster that was started without.
func TestGVisorIsKnown(t *testing.T) {
	o := options(t)
	if err := WriteConfigs(o, Host{}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"containerd.toml": `runtime_path = "` + o.State + `/gvisor/containerd-shim-runsc-v1"`,
		"runsc.toml":      `binary_name = "` + o.State + `/gvisor/runsc"`,
	} {
		content, err := os.ReadFile(o.Config(file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) {
			t.Errorf("%s: no %s in\n%s", file, want, content)
		}
	}
}

func TestNeedsComeFirst(t *testing.T) {
	var names []string
	for _, component := range All(options(t)) {
		for _, need := range component.Needs {
			if !slices.Contains(names, need) {
				t.Errorf("%s needs %s, which is not listed before it", component.Name, need)
			}
		}
		names = append(names, component.Name)
	}
}

package components

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/images"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// containerdTemplate: AppArmor stays off because its profiles are the host
// kernel's and would outlive the cluster.
var containerdTemplate = template.Must(template.New("containerd").Parse(`version = 3
root = {{ printf "%q" .Root }}
state = {{ printf "%q" .State }}

[grpc]
  address = {{ printf "%q" .Socket }}

[plugins."io.containerd.cri.v1.images"]
  snapshotter = {{ printf "%q" .Snapshotter }}
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = {{ printf "%q" .Pause }}

[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  restrict_oom_score_adj = {{ .RestrictOOM }}
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [{{ printf "%q" .CNIBin }}]
    conf_dir = {{ printf "%q" .CNIConf }}
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = {{ printf "%q" .Runc }}
        SystemdCgroup = false
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.writable]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.writable.options]
        BinaryName = {{ printf "%q" .RuncWritable }}
        SystemdCgroup = false
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{{ .GVisor }}]
      runtime_type = "io.containerd.runsc.v1"
      runtime_path = {{ printf "%q" .GVisorShim }}
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{{ .GVisor }}.options]
        TypeUrl = "io.containerd.runsc.v1.options"
        ConfigPath = {{ printf "%q" .GVisorConfig }}
`))

// containerdConfig renders containerd's configuration. Without
// CAP_SYS_RESOURCE no sandbox can be made harder to kill, and each would die trying.
func containerdConfig(o layout.Options, host Host) string {
	snapshotter := "native"
	if host.Overlay {
		snapshotter = "overlayfs"
	}
	var text strings.Builder
	err := containerdTemplate.Execute(&text, map[string]any{
		"Root":        o.Dir("containerd"),
		"State":       filepath.Join(o.Run, "containerd"),
		"Socket":      o.Containerd(),
		"Snapshotter": snapshotter,
		"Pause":       images.Pause.Reference(),
		"RestrictOOM": !host.LowerOOMScores,
		"CNIBin":      layout.CNIPlugins,
		"CNIConf":     o.Dir("cni"),
		"Runc":        o.Binary("runc"),

		"RuncWritable": o.Config(runcWritable),

		"GVisor":       layout.GVisorRuntime,
		"GVisorShim":   o.GVisor("containerd-shim-runsc-v1"),
		"GVisorConfig": o.Config(GVisorConfig),
	})
	if err != nil {
		panic(err) // the template and its data stand above
	}
	return text.String()
}

// GVisorConfig is the configuration of gVisor's shim. containerd looks at what it names when a pod asks for it, so it may
// name programs that are not there yet.
const GVisorConfig = "runsc.toml"

// gvisorToml: systrap is the platform that needs neither KVM nor privileges.
func gvisorToml(o layout.Options) string {
	return fmt.Sprintf("binary_name = %q\n\n[runsc_config]\n  platform = \"systrap\"\n", o.GVisor("runsc"))
}

// runcWritable is the name of a program that is runc, but for mounting cgroups writable. containerd's own
// cgroup_writable is for cgroup v2 only.
const runcWritable = "runc-cgroup-writable"

func runcWritableScript(o layout.Options) string {
	return `#!/bin/sh
# runc, but containers see their cgroups writable.
bundle=
for word; do
	[ "$last" != --bundle ] || bundle=$word
	last=$word
done
[ -z "$bundle" ] || sed -i 's/\("source":"cgroup","options":\[[^]]*\)"ro"/\1"rw"/' "$bundle/config.json"
exec ` + o.Binary("runc") + ` "$@"
`
}

package components

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// Host is what was found out about the machine, and changes the configuration.
type Host struct {
	// Overlay: an overlay can be mounted on the state directory.
	Overlay bool
	// LowerOOMScores: the kernel lets us make processes harder to kill.
	LowerOOMScores bool
}

// WriteConfigs renders the configuration file of every component that has one.
func WriteConfigs(o layout.Options, host Host) error {
	files := map[string]any{
		o.Config("kubelet.json"):                             kubeletConfig(o),
		o.Config("kube-proxy.json"):                          proxyConfig(o),
		filepath.Join(o.Dir("cni"), "10-localkube.conflist"): cniConfig(o),
		o.Config("containerd.toml"):                          containerdConfig(o, host),
		o.Config("resolv.conf"):                              resolvConf,
		o.Config(runcWritable):                               runcWritableScript(o),
		o.Config(GVisorConfig):                               gvisorToml(o),
	}
	for path, content := range files {
		data, err := encode(content)
		if err != nil {
			return fmt.Errorf("rendering %s: %w", path, err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("writing configuration: %w", err)
		}
	}
	if err := os.Chmod(o.Config(runcWritable), 0o755); err != nil { //nolint:gosec // a program
		return fmt.Errorf("writing configuration: %w", err)
	}
	return nil
}

// encode passes text through and renders the rest as JSON, which all readers
// of YAML read.
func encode(content any) ([]byte, error) {
	if text, ok := content.(string); ok {
		return []byte(text), nil
	}
	return json.MarshalIndent(content, "", "  ")
}

// resolvConf names no server, so a pod that does not use the cluster's DNS
// asks its own loopback and is refused at once.
const resolvConf = "# No name server: nothing is resolved outside the cluster.\noptions timeout:1 attempts:1\n"

type object = map[string]any

// proxyConfig has the usual second between two programmings of Services; conntrack
// settings of 0 mean hands off, because those sysctls are the host's.
func proxyConfig(o layout.Options) object {
	return object{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "iptables",
		"bindAddress":        "127.0.0.1",
		"healthzBindAddress": "127.0.0.1:10256",
		"metricsBindAddress": "127.0.0.1:10249",
		"clientConnection":   object{"kubeconfig": o.Kubeconfig(Proxy)},
		"clusterCIDR":        layout.PodRange,
		"hostnameOverride":   layout.NodeName,
		"iptables":           object{"minSyncPeriod": "1s", "localhostNodePorts": false},
		"conntrack": object{
			"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s",
		},
	}
}

// cniConfig uses ptp rather than bridge: every pod has a routed link of its
// own, so traffic between pods passes kube-proxy's rules without br_netfilter,
// a pod reaches itself through its Service, and an address that no pod has is
// unreachable at once instead of after three seconds of ARP.
func cniConfig(o layout.Options) object {
	return object{
		"cniVersion": "1.0.0",
		"name":       layout.NodeName,
		"plugins": []object{
			{
				"type": "ptp",
				"ipam": object{
					"type":    "host-local",
					"dataDir": o.Dir("ipam"),
					"ranges":  [][]object{{{"subnet": layout.PodRange}}},
					"routes":  []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}
}

package components

import "github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"

// kubeletConfig evicts only on real exhaustion, holds back no CPU, and keeps
// every file below the state directory.
func kubeletConfig(o layout.Options) object {
	config := object{
		"apiVersion":         "kubelet.config.k8s.io/v1beta1",
		"kind":               "KubeletConfiguration",
		"address":            layout.NodeIP,
		"healthzBindAddress": "127.0.0.1",
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": true},
			"x509":      object{"clientCAFile": o.PKI("ca.crt")},
		},
		"authorization":               object{"mode": "Webhook"},
		"tlsCertFile":                 o.PKI("kubelet.crt"),
		"tlsPrivateKeyFile":           o.PKI("kubelet.key"),
		"containerRuntimeEndpoint":    "unix://" + o.Containerd(),
		"cgroupDriver":                "cgroupfs",
		"cgroupRoot":                  "/" + layout.Cgroup,
		"failCgroupV1":                false,
		"failSwapOn":                  false,
		"clusterDNS":                  []string{layout.DNSServiceIP},
		"clusterDomain":               layout.Domain,
		"resolvConf":                  o.Config("resolv.conf"),
		"podLogsDir":                  o.Dir("pods"),
		"volumePluginDir":             o.Dir("volume-plugins"),
		"maxPods":                     250,
		"serializeImagePulls":         false,
		"registryPullQPS":             0,
		"eventRecordQPS":              0,
		"imageGCHighThresholdPercent": 100,
		"evictionHard": object{
			"memory.available":   "100Mi",
			"nodefs.available":   "1%",
			"nodefs.inodesFree":  "1%",
			"imagefs.available":  "1%",
			"imagefs.inodesFree": "1%",
		},
		"cpuManagerPolicy": o.CPUManagerPolicy,
	}
	switch {
	case o.ReservedCPUs != "":
		config["reservedSystemCPUs"] = o.ReservedCPUs
	case o.CPUManagerPolicy == "static":
		// The policy insists on some. Of a tenth of a CPU it keeps one whole CPU from being given away, and all but
		// the tenth of that one stay for pods that share.
		config["systemReserved"] = map[string]string{"cpu": "100m"}
	}
	return config
}

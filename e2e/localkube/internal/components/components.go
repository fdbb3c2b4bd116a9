// Package components says how each part of Kubernetes is started, what it
// needs to be there before it, and how to tell that it is healthy.
package components

import (
	"path/filepath"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// Component is one daemon of the cluster.
type Component struct {
	Name string
	// Path is the program; Args begin with its name, by which the multi-call
	// binary knows what to be.
	Path string
	Args []string
	// Needs are components that must be healthy before this one is started.
	Needs []string
	// Health is a URL (http or https) or a unix socket (unix:///...).
	Health string
}

// Names of the components, in the order of start.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Containerd        = "containerd"
	Kubelet           = "kubelet"
	Proxy             = "kube-proxy"
	Storage           = "storage-provisioner"
	NetworkPolicy     = "network-policy"
)

// All returns every component.
func All(o layout.Options) []Component {
	return []Component{
		containerd(o), etcd(o), apiServer(o), controllerManager(o), scheduler(o), kubelet(o), proxy(o), storage(o),
		networkPolicy(o),
	}
}

// daemon is a component that lives in the multi-call binary.
func daemon(o layout.Options, name, health string, needs []string, flags ...string) Component {
	return Component{
		Name: name, Path: o.Binary("node"), Args: append([]string{name}, flags...),
		Needs: needs, Health: health,
	}
}

func containerd(o layout.Options) Component {
	return Component{
		Name: Containerd, Path: o.Binary(Containerd),
		Args:   []string{Containerd, "--config", o.Config("containerd.toml")},
		Health: "unix://" + o.Containerd(),
	}
}

func kubelet(o layout.Options) Component {
	return daemon(o, Kubelet, "http://127.0.0.1:10248/healthz", []string{Containerd, APIServer},
		"--config="+o.Config("kubelet.json"),
		"--kubeconfig="+o.Kubeconfig(Kubelet),
		"--root-dir="+o.Dir("kubelet"),
		"--node-ip="+layout.NodeIP,
		"--hostname-override="+layout.NodeName,
	)
}

func proxy(o layout.Options) Component {
	return daemon(o, Proxy, "http://127.0.0.1:10256/livez", []string{APIServer},
		"--config="+o.Config("kube-proxy.json"))
}

func storage(o layout.Options) Component {
	return daemon(o, Storage, "http://127.0.0.1:10260/healthz", []string{APIServer},
		"--kubeconfig="+o.Kubeconfig(Storage),
		"--directory="+o.Dir("volumes"),
		"--listen=127.0.0.1:10260",
	)
}

// networkPolicy is a command of this program: it needs nothing of Kubernetes but its client.
func networkPolicy(o layout.Options) Component {
	const listen = "127.0.0.1:10261"
	return Component{
		Name: NetworkPolicy, Path: o.Self(),
		Args: []string{
			filepath.Base(o.Self()), NetworkPolicy,
			"--kubeconfig=" + o.Kubeconfig(NetworkPolicy),
			"--listen=" + listen,
		},
		Needs: []string{APIServer}, Health: "http://" + listen + "/healthz",
	}
}

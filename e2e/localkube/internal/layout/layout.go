// Package layout says where everything of a localkube is: addresses, names
// and paths. Every other package asks here instead of spelling them again.
package layout

import "path/filepath"

// The one node, and the addresses of the cluster. One localkube fits on a host.
const (
	NodeName = "localkube"

	// HostLink and NodeLink are the two ends of the veth pair between the host
	// and the cluster's network namespace.
	HostLink   = "localkube0"
	NodeLink   = "uplink"
	LinkRange  = "10.123.0.0/30"
	NodeIP     = "10.123.0.1"
	HostIP     = "10.123.0.2"
	LinkPrefix = 30

	ServiceRange = "10.96.0.0/16"
	PodRange     = "10.244.0.0/16"
	APIServiceIP = "10.96.0.1"
	DNSServiceIP = "10.96.0.10"
	Domain       = "cluster.local"

	// APIServer is the address that every client uses, inside and outside.
	APIServer = "https://" + NodeIP + ":6443"

	// Cgroup is the name of our cgroup, directly below the root of every
	// hierarchy: the kubelet needs one path that is the same in all of them.
	Cgroup = "localkube"

	// GVisorRuntime is containerd's name of gVisor.
	GVisorRuntime = "runsc"

	// CNIPlugins is where Debian's containernetworking-plugins installs to.
	CNIPlugins = "/usr/lib/cni"

	// CNIResults is where libcni, in containerd, notes the addresses of every pod; inside, this is our own tmpfs.
	CNIResults = "/var/lib/cni/results"
)

// Paths are the directories of one localkube.
type Paths struct {
	State string `json:"state"`
	Run   string `json:"run"`
	Bin   string `json:"bin"`
}

// Dir returns a path below the state directory.
func (p Paths) Dir(elem ...string) string {
	return filepath.Join(append([]string{p.State}, elem...)...)
}

// Binary returns the path of a built program.
func (p Paths) Binary(name string) string { return filepath.Join(p.Bin, name) }

// Self returns the path of the localkube program that pid 1 runs.
func (p Paths) Self() string { return p.Dir("localkube") }

// GVisor returns the path of a program of gVisor. It lies in the state
// directory, because it may come after the cluster was started.
func (p Paths) GVisor(name string) string { return p.Dir("gvisor", name) }

// Image returns the path of an image archive that was built with the binaries.
func (p Paths) Image(name string) string {
	return filepath.Join(filepath.Dir(p.Bin), "images", name+".tar")
}

// PKI returns the path of a certificate or key.
func (p Paths) PKI(name string) string { return p.Dir("pki", name) }

// Kubeconfig returns the kubeconfig of a component.
func (p Paths) Kubeconfig(component string) string {
	return p.Dir("kubeconfigs", component+".kubeconfig")
}

// AdminKubeconfig is the one for people and tests.
func (p Paths) AdminKubeconfig() string { return p.Dir("kubeconfig") }

// Log returns the log file of a component.
func (p Paths) Log(component string) string { return p.Dir("logs", component+".log") }

// Config is the rendered configuration file of a component.
func (p Paths) Config(name string) string { return p.Dir("config", name) }

// Containerd is the socket that the kubelet and ctr talk to.
func (p Paths) Containerd() string { return filepath.Join(p.Run, "containerd.sock") }

// Control is the socket that pid 1 of the cluster listens on.
func (p Paths) Control() string { return filepath.Join(p.Run, "control.sock") }

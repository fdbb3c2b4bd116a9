package firewall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// Addresses of the network: that of a Service, one of a pod that is not there, and two that the host has besides its own.
const (
	service = "10.96.0.10"
	gone    = "10.244.0.99"
	outside = "172.17.0.5"
	except  = "172.17.1.5"
)

// machines maps the names of the machines in the network to their addresses. A pod's name is namespace/name.
var machines = map[string]string{
	"node":       layout.NodeIP,
	"host":       layout.HostIP,
	"a/db":       "10.244.0.2",
	"a/frontend": "10.244.0.3",
	"a/other":    "10.244.0.4",
	"b/client":   "10.244.0.5",
	"b/other":    "10.244.0.6",
	// What the API server does not know yet.
	"b/new": "10.244.0.7",
}

// Ports that every machine answers on.
var (
	tcpPorts = []int{53, 80, 6379}
	udpPorts = []int{53}
)

// world is a network as that of the cluster: pods on links of their own to the node, which forwards, and the host.
type world map[string]*namespace

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{}
	for name := range machines {
		w[name] = newNamespace(t)
	}
	node := w["node"]
	for name := range machines {
		if strings.Contains(name, "/") {
			w.plugPod(name)
		}
	}
	w.plugHost()
	node.sysctl("ip_forward", "1")
	node.sysctl("icmp_ratemask", "0")
	// As package network does it: what leads nowhere goes to the uplink, and is refused there.
	node.run("ip", "route", "add", layout.PodRange, "dev", layout.NodeLink)
	node.run("iptables", "-w", "-A", "FORWARD", "-o", layout.NodeLink, "-d", layout.PodRange, "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")
	// As kube-proxy does it: the Service is a/db, whose packets to itself look as if the node sent them.
	for _, protocol := range []string{"tcp", "udp"} {
		node.run("iptables", "-w", "-t", "nat", "-A", "PREROUTING", "-d", service, "-p", protocol, "-j", "DNAT",
			"--to-destination", machines["a/db"])
	}
	node.run("iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-s", machines["a/db"], "-d", machines["a/db"], "-j", "MASQUERADE")
	for _, namespace := range w {
		serve(namespace)
	}
	return w
}

// plugPod does what the CNI plugin ptp does.
func (w world) plugPod(name string) {
	pod, node, address := w[name], w["node"], machines[name]
	link := "veth" + address[strings.LastIndexByte(address, '.')+1:]
	connect(node, link, pod, "eth0")
	node.run("ip", "address", "add", "10.244.0.1/32", "dev", link)
	node.run("ip", "route", "add", address, "dev", link)
	pod.run("ip", "address", "add", address, "dev", "eth0")
	pod.run("ip", "route", "add", "10.244.0.1", "dev", "eth0")
	pod.run("ip", "route", "add", "default", "via", "10.244.0.1")
}

func (w world) plugHost() {
	host, node := w["host"], w["node"]
	connect(node, layout.NodeLink, host, layout.HostLink)
	prefix := fmt.Sprintf("/%d", layout.LinkPrefix)
	node.run("ip", "address", "add", layout.NodeIP+prefix, "dev", layout.NodeLink)
	node.run("ip", "route", "add", "172.17.0.0/16", "via", layout.HostIP)
	host.run("ip", "address", "add", layout.HostIP+prefix, "dev", layout.HostLink)
	for _, address := range []string{outside, except} {
		host.run("ip", "address", "add", address, "dev", "lo")
	}
	host.run("ip", "route", "add", "default", "via", layout.NodeIP)
}

// connect makes a link between two namespaces.
func connect(a *namespace, aLink string, b *namespace, bLink string) {
	a.run("ip", "link", "add", aLink, "type", "veth", "peer", "name", bLink, "netns", fmt.Sprintf("/proc/%d/fd/%d", unix.Getpid(), b.file.Fd()))
	a.run("ip", "link", "set", aLink, "up")
	b.run("ip", "link", "set", bLink, "up")
}

// serve answers on every port with who has asked.
func serve(n *namespace) {
	n.t.Helper()
	for _, port := range tcpPorts {
		n.must(func() error {
			listener, err := net.ListenTCP("tcp4", &net.TCPAddr{Port: port})
			if err != nil {
				return err
			}
			n.t.Cleanup(func() { listener.Close() })
			go answerTCP(listener)
			return nil
		})
	}
	for _, port := range udpPorts {
		n.must(func() error {
			conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
			if err != nil {
				return err
			}
			n.t.Cleanup(func() { conn.Close() })
			go answerUDP(conn)
			return nil
		})
	}
}

func answerTCP(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			io.Copy(conn, conn)
		}()
	}
}

func answerUDP(conn *net.UDPConn) {
	buffer := make([]byte, 64)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		conn.WriteToUDPAddrPort(buffer[:n], from)
	}
}

// outcome of an attempt to be answered.
type outcome string

const (
	passes  outcome = "passes"
	refused outcome = "is refused"
	silence outcome = "gets no answer"
)

// patience is how long an answer may take, on a busy machine too. Who is refused learns it at once.
const (
	patience      = 5 * time.Second
	silencePeriod = 300 * time.Millisecond
)

// dial opens a connection from a machine, or from one of its further addresses.
func (w world) dial(from, source, network, to string, patience time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: patience}
	if source != "" {
		address := net.ParseIP(source)
		dialer.LocalAddr = &net.TCPAddr{IP: address}
		if network == "udp4" {
			dialer.LocalAddr = &net.UDPAddr{IP: address}
		}
	}
	var conn net.Conn
	err := w[from].do(func() (err error) {
		conn, err = dialer.DialContext(context.Background(), network, to)
		return err
	})
	return conn, err
}

// ask tries whether a machine is answered.
func (w world) ask(from, source, network string, to netip.AddrPort, patience time.Duration) outcome {
	conn, err := w.dial(from, source, network+"4", to.String(), patience)
	if err == nil {
		defer conn.Close()
		err = exchange(conn, patience)
	}
	timeout := net.Error(nil)
	switch {
	case err == nil:
		return passes
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ECONNRESET):
		return refused
	case errors.As(err, &timeout) && timeout.Timeout():
		return silence
	default:
		return outcome(err.Error())
	}
}

// exchange sends something and waits until it comes back.
func exchange(conn net.Conn, patience time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("?")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

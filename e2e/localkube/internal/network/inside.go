package network

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// SetUpInside configures the cluster's own network namespace; the caller is in it.
func SetUpInside() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback interface: %w", err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("setting the loopback interface up: %w", err)
	}
	uplink, err := netlink.LinkByName(layout.NodeLink)
	if err != nil {
		return fmt.Errorf("finding the interface %s: %w", layout.NodeLink, err)
	}
	if err := addAddress(uplink, layout.NodeIP); err != nil {
		return err
	}
	if err := addInsideRoutes(uplink); err != nil {
		return err
	}
	for name, value := range sysctls {
		if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4", name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("setting the sysctl %s to %s: %w", name, value, err)
		}
	}
	return rejectUntranslated()
}

// sysctls of the namespace. Refusals must not be rate-limited: a refusal that
// is not sent is a time-out for whoever waits for it.
var sysctls = map[string]string{"ip_forward": "1", "icmp_ratelimit": "0"}

// addInsideRoutes adds the only routes there are. Services need one, although
// it leads nowhere: the kernel looks for a route before kube-proxy's rules
// translate the address. All else is unreachable, so nothing leaves the machine.
func addInsideRoutes(uplink netlink.Link) error {
	if err := addRoute(uplink, layout.ServiceRange, nil); err != nil {
		return err
	}
	_, everything, err := net.ParseCIDR("0.0.0.0/0")
	if err != nil {
		return err
	}
	err = netlink.RouteAdd(&netlink.Route{Dst: everything, Type: unix.RTN_UNREACHABLE})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding the unreachable default route: %w", err)
	}
	return nil
}

// rejectUntranslated makes a connection to a Service that kube-proxy does not
// know (yet) fail at once. Whatever kube-proxy translated has another
// destination by the time it comes to the filter table.
func rejectUntranslated() error {
	for _, chain := range []string{"OUTPUT", "FORWARD"} {
		for _, how := range [][]string{
			{"-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"},
			{"-j", "REJECT", "--reject-with", "icmp-port-unreachable"},
		} {
			args := append([]string{"-w", "-A", chain, "-d", layout.ServiceRange}, how...)
			var output bytes.Buffer
			command := exec.Command("iptables", args...)
			command.Stdout, command.Stderr = &output, &output
			if err := command.Run(); err != nil {
				return fmt.Errorf("running iptables %s: %w: %s", strings.Join(args, " "), err, output.String())
			}
		}
	}
	return nil
}

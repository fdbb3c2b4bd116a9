package network

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

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
	if err := routeStrays(uplink); err != nil {
		return err
	}
	for name, value := range sysctls {
		if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4", name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("setting the sysctl %s to %s: %w", name, value, err)
		}
	}
	return rejectStrays()
}

// sysctls of the namespace. Refusals must not be rate-limited: a refusal that
// is not sent is a time-out for whoever waits for it. The mask takes them out of
// both limits, the one per receiver and that of icmp_msgs_per_sec for all.
var sysctls = map[string]string{"ip_forward": "1", "icmp_ratemask": "0"}

// strayTable is the routing table of forwarded packets that no other has.
const strayTable = 100

// routeStrays gives packets that lead nowhere a way to the filter table, which
// rejects them. There is no default route: nothing leaves the machine.
//
// The kernel looks for a route before kube-proxy's rules translate the address
// of a Service, so Services have one. Forwarded packets all have one, because
// an ICMP "unreachable" would be rate-limited, which is a time-out for the one
// who waits. The cluster's own processes learn at once that there is no route.
func routeStrays(uplink netlink.Link) error {
	if err := addRoute(uplink, layout.ServiceRange, nil); err != nil {
		return err
	}
	_, everywhere, err := net.ParseCIDR("0.0.0.0/0")
	if err != nil {
		return err
	}
	err = netlink.RouteAdd(&netlink.Route{
		LinkIndex: uplink.Attrs().Index, Dst: everywhere, Scope: netlink.SCOPE_LINK, Table: strayTable,
	})
	if err != nil {
		return fmt.Errorf("adding the route of stray packets: %w", err)
	}
	rule := netlink.NewRule()
	rule.IifName, rule.Invert = "lo", true
	rule.Table, rule.Priority = strayTable, 33000 // after all others
	if err := netlink.RuleAdd(rule); err != nil {
		return fmt.Errorf("adding the routing rule of stray packets: %w", err)
	}
	return nil
}

// rejectStrays makes everything fail at once that would leave by the uplink and
// is not for the host: a Service that kube-proxy does not know (yet), a pod
// that is gone, the rest of the world. What kube-proxy translated has another
// destination by the time it comes to the filter table.
func rejectStrays() error {
	for _, match := range [][]string{
		{"OUTPUT", "-d", layout.ServiceRange},
		{"FORWARD", "-o", layout.NodeLink, "!", "-d", layout.LinkRange},
	} {
		for _, verdict := range [][]string{
			{"-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"},
			{"-j", "REJECT", "--reject-with", "icmp-port-unreachable"},
		} {
			if err := iptables(slices.Concat([]string{"-w", "-A"}, match, verdict)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func iptables(args ...string) error {
	if output, err := exec.Command("iptables", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("running iptables %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return nil
}

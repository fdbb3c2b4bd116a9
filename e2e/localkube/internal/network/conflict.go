package network

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// use is a range of addresses that the host already uses, and for what.
type use struct {
	ipnet *net.IPNet
	what  string
}

// checkHost refuses to start where the host already uses one of our ranges.
func checkHost() error {
	uses, err := hostUses()
	if err != nil {
		return err
	}
	return findConflict(uses, []string{layout.LinkRange, layout.ServiceRange, layout.PodRange})
}

func hostUses() ([]use, error) {
	var uses []use
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("listing the host's addresses: %w", err)
	}
	for _, address := range addresses {
		uses = append(uses, use{address.IPNet, "the address " + address.IPNet.String()})
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("listing the host's routes: %w", err)
	}
	for _, route := range routes {
		if route.Dst != nil {
			uses = append(uses, use{route.Dst, "the route to " + route.Dst.String()})
		}
	}
	return uses, nil
}

// findConflict compares ranges. A default route is no conflict, and neither is
// one that is wider than ours: the kernel prefers the narrower.
func findConflict(uses []use, ranges []string) error {
	for _, wanted := range ranges {
		_, ours, err := net.ParseCIDR(wanted)
		if err != nil {
			return fmt.Errorf("reading the range %s: %w", wanted, err)
		}
		for _, use := range uses {
			network := net.IPNet{IP: use.ipnet.IP.Mask(use.ipnet.Mask), Mask: use.ipnet.Mask}
			theirs, _ := use.ipnet.Mask.Size()
			mine, _ := ours.Mask.Size()
			wider := theirs < mine && !ours.Contains(use.ipnet.IP)
			if !wider && (ours.Contains(network.IP) || network.Contains(ours.IP)) {
				return fmt.Errorf("this host already has %s, which overlaps %s that localkube needs: "+
					"remove it, or run localkube on another machine", use.what, wanted)
			}
		}
	}
	return nil
}

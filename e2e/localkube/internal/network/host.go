// Package network connects the cluster's network namespace to the host, and to
// nothing else.
package network

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// Attach makes the veth pair between the host and the network namespace of
// process pid, with the routes to Services and pods on the host's side. All of
// it vanishes with the namespace.
func Attach(pid int) error {
	if err := checkHost(); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = layout.HostLink
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: layout.NodeLink, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("making the interface %s: %w", layout.HostLink, err)
	}
	link, err := netlink.LinkByName(layout.HostLink)
	if err != nil {
		return fmt.Errorf("finding the interface %s: %w", layout.HostLink, err)
	}
	if err := addAddress(link, layout.HostIP); err != nil {
		return err
	}
	for _, destination := range []string{layout.ServiceRange, layout.PodRange} {
		if err := addRoute(link, destination, net.ParseIP(layout.NodeIP)); err != nil {
			return err
		}
	}
	return nil
}

// Detach removes the host's end, should it still be there.
func Detach() error {
	link, err := netlink.LinkByName(layout.HostLink)
	if missing := (netlink.LinkNotFoundError{}); errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finding the interface %s: %w", layout.HostLink, err)
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("removing the interface %s: %w", layout.HostLink, err)
	}
	return nil
}

func addAddress(link netlink.Link, ip string) error {
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(layout.LinkPrefix, 32)}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fmt.Errorf("giving %s its address %s: %w", link.Attrs().Name, ip, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting %s up: %w", link.Attrs().Name, err)
	}
	return nil
}

func addRoute(link netlink.Link, destination string, gateway net.IP) error {
	_, ipnet, err := net.ParseCIDR(destination)
	if err != nil {
		return fmt.Errorf("reading the range %s: %w", destination, err)
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipnet, Gw: gateway}
	if gateway == nil {
		route.Scope = netlink.SCOPE_LINK
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("adding the route to %s: %w", destination, err)
	}
	return nil
}

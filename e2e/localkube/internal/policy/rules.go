// Package policy decides what NetworkPolicies let pass. It is pure: it makes rules out of the objects of the API, and
// knows no client, no clock and no kernel.
package policy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Rules are what all NetworkPolicies of a cluster want together. A connection passes when both directions let it pass,
// and with it pass its replies. The zero value is that of a cluster without policies: everything passes.
type Rules struct {
	// Pods are the addresses of all pods, isolated or not, sorted.
	Pods []netip.Addr
	// Egress is about the pods that open connections, Ingress about those that they are opened to. Each has every
	// policy of its direction, sorted by name, also those that select no pod now.
	Egress, Ingress []Policy
}

// Policy is a NetworkPolicy in one direction. Whatever its pods do in that direction must be allowed, by it or by
// another policy of the direction.
type Policy struct {
	// Name is namespace/name.
	Name string
	// Pods are the addresses that it isolates, sorted.
	Pods  []netip.Addr
	Allow []Allow
}

// Allow lets connections pass that fit all of its parts.
type Allow struct {
	From, To Addresses
	Ports    Ports
}

// Addresses are where one end of a connection may be: on a list, or within a block. The zero value is anywhere.
type Addresses struct {
	// List is sorted, and never empty unless it is nil.
	List []netip.Addr
	// Block has no bits of a host; what is in one of Except is not in it.
	Block  netip.Prefix
	Except []netip.Prefix
}

// Contains reports whether an address is among them.
func (a Addresses) Contains(address netip.Addr) bool {
	switch {
	case a.List != nil:
		return slices.Contains(a.List, address)
	case a.Block.IsValid():
		excepted := func(except netip.Prefix) bool { return except.Contains(address) }
		return a.Block.Contains(address) && !slices.ContainsFunc(a.Except, excepted)
	default:
		return true
	}
}

// Ports are the destination ports of a protocol from First to Last; all of them when both are 0. Without a protocol,
// they are all ports of all protocols.
type Ports struct {
	Protocol    corev1.Protocol
	First, Last uint16
}

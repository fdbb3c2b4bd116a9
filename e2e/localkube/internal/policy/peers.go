package policy

import (
	"fmt"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// peers resolves a rule's from or to. No entry at all means anywhere; an entry that selects nobody adds nothing.
func (s scope) peers(namespace string, entries []networkingv1.NetworkPolicyPeer) ([]Addresses, error) {
	if len(entries) == 0 {
		return []Addresses{{}}, nil
	}
	var resolved []Addresses
	for _, entry := range entries {
		if entry.IPBlock != nil {
			block, err := readBlock(entry.IPBlock)
			if err != nil {
				return nil, err
			}
			resolved = append(resolved, block...)
			continue
		}
		pods, err := s.selected(namespace, entry)
		if err != nil {
			return nil, err
		}
		if list := addresses(pods); len(list) > 0 {
			resolved = append(resolved, Addresses{List: list})
		}
	}
	return resolved, nil
}

// selected resolves an entry with selectors: without one for namespaces, it means pods of the policy's own; without one
// for pods, all of them.
func (s scope) selected(namespace string, entry networkingv1.NetworkPolicyPeer) ([]endpoint, error) {
	if entry.NamespaceSelector == nil {
		return s.inNamespace(namespace, entry.PodSelector)
	}
	selector, err := metav1.LabelSelectorAsSelector(entry.NamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("reading its namespaceSelector: %w", err)
	}
	pods := entry.PodSelector
	if pods == nil {
		pods = &metav1.LabelSelector{}
	}
	return s.selectPods(pods, func(other string) bool {
		known, exists := s.namespaces[other]
		return exists && selector.Matches(known)
	})
}

// readBlock returns nothing for a block of IPv6, which nobody here has an address of.
func readBlock(block *networkingv1.IPBlock) ([]Addresses, error) {
	cidr, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		return nil, fmt.Errorf("reading its ipBlock: %w", err)
	}
	if !cidr.Addr().Is4() {
		return nil, nil
	}
	read := Addresses{Block: cidr.Masked()}
	for _, text := range block.Except {
		except, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("reading what its ipBlock excepts: %w", err)
		}
		read.Except = append(read.Except, except.Masked())
	}
	return []Addresses{read}, nil
}

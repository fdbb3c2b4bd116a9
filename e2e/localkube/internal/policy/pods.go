package policy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// endpoint is a pod that policies apply to, with its addresses.
type endpoint struct {
	*corev1.Pod
	addresses []netip.Addr
}

// endpoints leaves out pods with hostNetwork, whose traffic is the node's own, and those that ended, whose addresses
// others may have by now.
func endpoints(c Cluster) []endpoint {
	var all []endpoint
	for _, pod := range c.Pods {
		if pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if known := addressesOf(pod, c.Sandboxes[pod.UID]); len(known) > 0 {
			all = append(all, endpoint{pod, known})
		}
	}
	return all
}

// addressesOf returns a pod's IPv4 addresses; there are no others in this cluster.
func addressesOf(pod *corev1.Pod, sandbox []netip.Addr) []netip.Addr {
	known := slices.Clone(sandbox)
	for _, ip := range pod.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil {
			known = append(known, address)
		}
	}
	return slices.DeleteFunc(known, func(address netip.Addr) bool { return !address.Is4() })
}

// addresses are those of several pods, sorted, each once.
func addresses(pods []endpoint) []netip.Addr {
	var all []netip.Addr
	for _, pod := range pods {
		all = append(all, pod.addresses...)
	}
	return sorted(all)
}

func sorted(list []netip.Addr) []netip.Addr {
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Compact(list)
}

// scope is what selectors select from.
type scope struct {
	pods       []endpoint
	namespaces map[string]labels.Set
}

func (s scope) inNamespace(namespace string, pods *metav1.LabelSelector) ([]endpoint, error) {
	return s.selectPods(pods, func(other string) bool { return other == namespace })
}

func (s scope) selectPods(pods *metav1.LabelSelector, within func(namespace string) bool) ([]endpoint, error) {
	selector, err := metav1.LabelSelectorAsSelector(pods)
	if err != nil {
		return nil, fmt.Errorf("reading its podSelector: %w", err)
	}
	var selected []endpoint
	for _, pod := range s.pods {
		if within(pod.Namespace) && selector.Matches(labels.Set(pod.Labels)) {
			selected = append(selected, pod)
		}
	}
	return selected, nil
}

package policy

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// allows makes a rule out of one pair of ends, for each of its ports. Destinations are the pods that a port's name is
// looked up in: it may be another number on each, so each number goes to its own pods alone.
func allows(from, to Addresses, ports []networkingv1.NetworkPolicyPort, destinations []endpoint) []Allow {
	if len(ports) == 0 {
		return []Allow{{From: from, To: to}}
	}
	var all []Allow
	for _, port := range ports {
		protocol := corev1.ProtocolTCP
		if port.Protocol != nil {
			protocol = *port.Protocol
		}
		switch {
		case port.Port == nil:
			all = append(all, Allow{from, to, Ports{Protocol: protocol}})
		case port.Port.Type == intstr.Int:
			all = append(all, Allow{from, to, numbered(protocol, port)})
		default:
			owners := named(protocol, port.Port.StrVal, to, destinations)
			for _, number := range slices.Sorted(maps.Keys(owners)) {
				to := Addresses{List: sorted(owners[number])}
				all = append(all, Allow{from, to, Ports{protocol, number, number}})
			}
		}
	}
	return all
}

func numbered(protocol corev1.Protocol, port networkingv1.NetworkPolicyPort) Ports {
	ports := Ports{Protocol: protocol, First: uint16(port.Port.IntVal), Last: uint16(port.Port.IntVal)}
	if port.EndPort != nil {
		ports.Last = uint16(*port.EndPort)
	}
	return ports
}

// named returns which addresses among to have a port of that name, by its number.
func named(protocol corev1.Protocol, name string, to Addresses, destinations []endpoint) map[uint16][]netip.Addr {
	owners := map[uint16][]netip.Addr{}
	for _, pod := range destinations {
		for _, number := range numbersOf(pod.Pod, protocol, name) {
			for _, address := range pod.addresses {
				if to.Contains(address) {
					owners[number] = append(owners[number], address)
				}
			}
		}
	}
	return owners
}

// numbersOf looks a name up in the containers that run as long as the pod, which are also those that Services look in.
func numbersOf(pod *corev1.Pod, protocol corev1.Protocol, name string) []uint16 {
	containers := slices.Clone(pod.Spec.Containers)
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, container)
		}
	}
	var numbers []uint16
	for _, container := range containers {
		for _, port := range container.Ports {
			same := port.Protocol == protocol || port.Protocol == "" && protocol == corev1.ProtocolTCP
			if port.Name == name && same {
				numbers = append(numbers, uint16(port.ContainerPort))
			}
		}
	}
	return numbers
}

package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// dns is the port of name servers.
const dns = 53

// NetworkPolicyName is the name of the NetworkPolicy.
func (c Cluster) NetworkPolicyName() string { return c.Object.Name }

// Isolated tells whether the cluster is to have a NetworkPolicy. Without knowing where the operator is, a policy would lock
// it out.
func (c Cluster) Isolated() bool {
	return c.OperatorNamespace != "" && c.Object.Spec.Network.Isolation != v1alpha1.NetworkIsolatedNone
}

// NetworkPolicy lets the cluster's own pods, the operator, and those whom the user names connect to its pods, and nobody else.
// The kubelet's probes and kubectl exec do not pass the network.
func NetworkPolicy(c Cluster) *networkingv1ac.NetworkPolicyApplyConfiguration {
	network := c.Object.Spec.Network
	own := networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(c.Selector()))
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(c.Selector())).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(
			networkingv1ac.NetworkPolicyIngressRule().WithFrom(own).WithFrom(peers(network.From)...),
			networkingv1ac.NetworkPolicyIngressRule().WithFrom(operator(c)).WithPorts(
				tcp(contract.PortSlurmrestd), tcp(contract.PortAgent)))
	if network.Egress == v1alpha1.NetworkEgressRestricted {
		spec.WithPolicyTypes(networkingv1.PolicyTypeEgress).WithEgress(
			networkingv1ac.NetworkPolicyEgressRule().WithTo(own).WithTo(peers(network.To)...),
			networkingv1ac.NetworkPolicyEgressRule().WithPorts(tcp(dns), networkingv1ac.NetworkPolicyPort().
				WithProtocol(corev1.ProtocolUDP).WithPort(intstr.FromInt32(dns))))
	}
	return networkingv1ac.NetworkPolicy(c.NetworkPolicyName(), c.Object.Namespace).
		WithLabels(c.labels("")).
		WithOwnerReferences(c.owner()).
		WithSpec(spec)
}

// operator are the operator's pods, by the labels that its chart gives them.
func operator(c Cluster) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: c.OperatorNamespace})).
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"app.kubernetes.io/name": contract.OperatorName}))
}

func peers(list []networkingv1.NetworkPolicyPeer) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	out := make([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration, 0, len(list))
	for _, p := range list {
		out = append(out, as[networkingv1ac.NetworkPolicyPeerApplyConfiguration](p))
	}
	return out
}

func tcp(port int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port))
}

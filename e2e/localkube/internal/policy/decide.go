package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is all that decides what may pass.
type Cluster struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Policies   []*networkingv1.NetworkPolicy
	// Sandboxes are addresses that pods have got, by UID. A pod's status tells its address only when its containers
	// have long begun.
	Sandboxes map[types.UID][]netip.Addr
}

// Decide makes the rules of a cluster. It fails on a selector or block that the API server does not accept either.
func Decide(c Cluster) (Rules, error) {
	if len(c.Policies) == 0 {
		return Rules{}, nil
	}
	s := scope{pods: endpoints(c), namespaces: map[string]labels.Set{}}
	for _, namespace := range c.Namespaces {
		s.namespaces[namespace.Name] = namespace.Labels
	}
	rules := Rules{Pods: addresses(s.pods)}
	for _, object := range c.Policies {
		if err := s.add(&rules, object); err != nil {
			return Rules{}, fmt.Errorf("reading the NetworkPolicy %s/%s: %w", object.Namespace, object.Name, err)
		}
	}
	byName := func(a, b Policy) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(rules.Egress, byName)
	slices.SortFunc(rules.Ingress, byName)
	return rules, nil
}

// add reads a NetworkPolicy, which is a policy in one direction or in both.
func (s scope) add(rules *Rules, object *networkingv1.NetworkPolicy) error {
	pods, err := s.inNamespace(object.Namespace, &object.Spec.PodSelector)
	if err != nil {
		return err
	}
	policy := Policy{Name: object.Namespace + "/" + object.Name, Pods: addresses(pods)}
	if applies(object.Spec, networkingv1.PolicyTypeEgress) {
		policy.Allow, err = s.egress(object)
		if err != nil {
			return err
		}
		rules.Egress = append(rules.Egress, policy)
	}
	if applies(object.Spec, networkingv1.PolicyTypeIngress) {
		policy.Allow, err = s.ingress(object, pods)
		if err != nil {
			return err
		}
		rules.Ingress = append(rules.Ingress, policy)
	}
	return nil
}

// applies tells whether a policy is one of a direction. Of a policy that does not say, the API's defaults hold: ingress
// always, egress when it has rules for that.
func applies(spec networkingv1.NetworkPolicySpec, direction networkingv1.PolicyType) bool {
	if len(spec.PolicyTypes) > 0 {
		return slices.Contains(spec.PolicyTypes, direction)
	}
	return direction == networkingv1.PolicyTypeIngress || len(spec.Egress) > 0
}

func (s scope) egress(object *networkingv1.NetworkPolicy) ([]Allow, error) {
	var all []Allow
	for _, rule := range object.Spec.Egress {
		peers, err := s.peers(object.Namespace, rule.To)
		if err != nil {
			return nil, err
		}
		for _, to := range peers {
			all = append(all, allows(Addresses{}, to, rule.Ports, s.pods)...)
		}
	}
	return all, nil
}

func (s scope) ingress(object *networkingv1.NetworkPolicy, pods []endpoint) ([]Allow, error) {
	var all []Allow
	for _, rule := range object.Spec.Ingress {
		peers, err := s.peers(object.Namespace, rule.From)
		if err != nil {
			return nil, err
		}
		for _, from := range peers {
			all = append(all, allows(from, Addresses{}, rule.Ports, pods)...)
		}
	}
	return all, nil
}

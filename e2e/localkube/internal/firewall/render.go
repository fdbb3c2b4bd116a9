package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

// Names of sets and chains.
const (
	pods   = "pods"   // addresses of all pods
	itself = "itself" // each such address as sender and receiver
	refuse = "refuse"
)

// unknownSender and unknownReceiver match packets of pods that are not known yet: they may belong to a policy. An
// address that no pod has leads to the uplink, where it is refused at once.
const (
	unknownSender   = "ip saddr " + layout.PodRange + " ip saddr != @" + pods
	unknownReceiver = "oifname != " + layout.NodeLink + " ip daddr " + layout.PodRange + " ip daddr != @" + pods
)

// direction is a base chain. An accept ends only the chain that it is in, so a packet has to pass both directions'.
type direction struct {
	name     string
	priority knftables.BaseChainPriority
	isolated string // what matches a packet's isolated end
	unknown  string
	policies []policy.Policy
}

// render adds the table to a transaction; without policies, there is none.
func render(tx *knftables.Transaction, rules policy.Rules) {
	if len(rules.Egress)+len(rules.Ingress) == 0 {
		return
	}
	w := writer{tx}
	tx.Add(&knftables.Table{})
	w.set(pods, "ipv4_addr", rules.Pods, func(pod string) []string { return []string{pod} })
	w.set(itself, "ipv4_addr . ipv4_addr", rules.Pods, func(pod string) []string { return []string{pod, pod} })
	w.refuse()
	w.direction(direction{"egress", "-20", "ip saddr", unknownSender, rules.Egress})
	w.direction(direction{"ingress", "-10", "ip daddr", unknownReceiver, rules.Ingress})
}

type writer struct{ tx *knftables.Transaction }

func (w writer) set(name, kind string, of []netip.Addr, key func(pod string) []string) {
	w.tx.Add(&knftables.Set{Name: name, Type: kind})
	for _, pod := range of {
		w.tx.Add(&knftables.Element{Set: name, Key: key(pod.String())})
	}
}

func (w writer) rule(chain string, words ...string) {
	w.tx.Add(&knftables.Rule{Chain: chain, Rule: strings.Join(words, " ")})
}

// refuse says no at once, as everywhere in this cluster, since a time-out costs whoever waits for it. To a pod that is
// not known yet it says nothing: that may be allowed in a moment, and TCP tries again.
func (w writer) refuse() {
	w.tx.Add(&knftables.Chain{Name: refuse})
	w.rule(refuse, unknownSender, "drop")
	w.rule(refuse, "meta l4proto tcp reject with tcp reset")
	w.rule(refuse, "reject with icmp admin-prohibited")
}

// direction judges every packet but replies, not only a connection's first: a policy holds for connections that are
// older than it, and for those of a pod from before its address was known.
func (w writer) direction(d direction) {
	if len(d.policies) == 0 {
		return
	}
	w.tx.Add(&knftables.Chain{
		Name: d.name, Type: knftables.PtrTo(knftables.FilterType), Hook: knftables.PtrTo(knftables.ForwardHook),
		Priority: &d.priority,
	})
	w.rule(d.name, "ct direction reply accept")
	w.rule(d.name, "ct state related accept")
	w.rule(d.name, "ip saddr . ip daddr @"+itself, "accept") // a pod, through its own Service
	w.rule(d.name, d.unknown, "drop")
	var isolated []netip.Addr
	for i, p := range d.policies {
		if len(p.Pods) > 0 {
			w.policy(d, fmt.Sprintf("%s-%d", d.name, i), p)
			isolated = append(isolated, p.Pods...)
		}
	}
	if len(isolated) > 0 {
		slices.SortFunc(isolated, netip.Addr.Compare)
		w.rule(d.name, d.isolated, list(slices.Compact(isolated)), "goto", refuse)
	}
}

// policy gives a policy a chain of its own, which returns when it does not allow a packet.
func (w writer) policy(d direction, chain string, p policy.Policy) {
	comment := p.Name[:min(len(p.Name), knftables.CommentLengthMax)]
	w.tx.Add(&knftables.Chain{Name: chain, Comment: &comment})
	for _, allow := range p.Allow {
		w.rule(chain, match(allow)+"accept")
	}
	w.rule(d.name, d.isolated, list(p.Pods), "jump", chain)
}

// match is empty for what matches everything, or ends with a space.
func match(allow policy.Allow) string {
	return addresses("ip saddr ", allow.From) + addresses("ip daddr ", allow.To) + ports(allow.Ports)
}

func addresses(end string, a policy.Addresses) string {
	switch {
	case a.List != nil:
		return end + list(a.List) + " "
	case a.Block.IsValid():
		text := end + a.Block.String() + " "
		for _, except := range a.Except {
			text += end + "!= " + except.String() + " "
		}
		return text
	default:
		return ""
	}
}

func ports(p policy.Ports) string {
	protocol := strings.ToLower(string(p.Protocol))
	switch {
	case protocol == "":
		return ""
	case p.Last == 0:
		return "meta l4proto " + protocol + " "
	case p.Last == p.First:
		return fmt.Sprintf("%s dport %d ", protocol, p.First)
	default:
		return fmt.Sprintf("%s dport %d-%d ", protocol, p.First, p.Last)
	}
}

func list(all []netip.Addr) string {
	texts := make([]string, len(all))
	for i, address := range all {
		texts[i] = address.String()
	}
	return "{ " + strings.Join(texts, ", ") + " }"
}

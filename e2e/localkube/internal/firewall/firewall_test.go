package firewall

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

// decide makes the rules of policies, written as a list in YAML, for the pods of the network. A pod's label app is its
// name, and so is its namespace's label kubernetes.io/metadata.name.
func decide(t *testing.T, policies string) policy.Rules {
	t.Helper()
	var c policy.Cluster
	if err := yaml.UnmarshalStrict([]byte(policies), &c.Policies); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		namespace := &corev1.Namespace{}
		namespace.Name, namespace.Labels = name, map[string]string{corev1.LabelMetadataName: name}
		c.Namespaces = append(c.Namespaces, namespace)
	}
	for machine, address := range machines {
		namespace, name, isPod := strings.Cut(machine, "/")
		if !isPod || name == "new" {
			continue
		}
		c.Pods = append(c.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Ports: []corev1.ContainerPort{{Name: "database", ContainerPort: 6379}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}},
			}}},
			Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: address}}},
		})
	}
	rules, err := policy.Decide(c)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// enforce does what the component does, from its start: it knows nothing of earlier rules.
func (w world) enforce(t *testing.T, rules policy.Rules) error {
	t.Helper()
	return w["node"].do(func() error {
		firewall, err := Open()
		if err != nil {
			return err
		}
		return firewall.Replace(context.Background(), rules)
	})
}

// attempt is to ask one machine from another, and what shall come of it.
type attempt struct {
	from    string
	to      string // a machine, or an address
	network string
	port    uint16
	want    outcome
	source  string // the sender's address, when it has several
}

func (w world) try(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		to := a.to
		if address, isMachine := machines[to]; isMachine {
			to = address
		}
		limit := patience
		if a.want == silence {
			limit = silencePeriod
		}
		got := w.ask(a.from, a.source, a.network, netip.AddrPortFrom(netip.MustParseAddr(to), a.port), limit)
		if got != a.want {
			t.Errorf("%s %s to %s, %s port %d: it %s, but it should be that it %s", a.from, a.source, a.to, a.network, a.port, got, a.want)
		}
	}
}

func TestEnforcement(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		name, policies string
		attempts       []attempt
	}{
		{"no policy", ``, []attempt{
			{"a/frontend", "a/db", "tcp", 6379, passes, ""},
			{"b/client", "a/db", "udp", 53, passes, ""},
			{"b/client", service, "tcp", 80, passes, ""},
			{"b/client", service, "udp", 53, passes, ""},
			{"a/db", service, "tcp", 80, passes, ""},
			{"a/db", "host", "tcp", 80, passes, ""},
			{"host", "a/db", "tcp", 80, passes, ""},
			{"host", "a/db", "tcp", 6379, passes, outside},
			{"host", "a/db", "tcp", 6379, passes, except},
			{"node", "a/db", "tcp", 80, passes, ""},
			{"a/db", "node", "tcp", 80, passes, ""},
			{"b/new", "a/db", "tcp", 80, passes, ""},
			{"a/db", "a/frontend", "tcp", 81, refused, ""}, // nobody listens
			{"a/db", gone, "tcp", 80, refused, ""},
		}},
		{"nothing in", `
- metadata: {name: deny, namespace: a}
  spec: {podSelector: {}, policyTypes: [Ingress]}
`, []attempt{
			{"a/frontend", "a/db", "tcp", 6379, refused, ""},
			{"b/client", "a/db", "tcp", 6379, refused, ""},
			{"b/client", "a/db", "udp", 53, refused, ""},
			{"b/client", service, "tcp", 80, refused, ""},
			{"host", "a/db", "tcp", 80, refused, ""},
			// What it asks for, itself, its node, and all others are as before.
			{"a/db", "b/client", "tcp", 80, passes, ""},
			{"a/db", "b/client", "udp", 53, passes, ""},
			{"a/db", "host", "tcp", 80, passes, ""},
			{"a/db", service, "tcp", 80, passes, ""},
			{"a/db", service, "udp", 53, passes, ""},
			{"a/db", "a/db", "tcp", 80, passes, ""},
			{"node", "a/db", "tcp", 80, passes, ""},
			{"node", "a/db", "udp", 53, passes, ""},
			{"b/client", "b/other", "tcp", 80, passes, ""},
		}},
		{"nothing out", `
- metadata: {name: deny, namespace: a}
  spec: {podSelector: {}, policyTypes: [Egress]}
`, []attempt{
			{"a/frontend", "a/db", "tcp", 6379, refused, ""},
			{"a/frontend", "b/client", "tcp", 80, refused, ""},
			{"a/frontend", service, "udp", 53, refused, ""},
			{"a/frontend", "host", "tcp", 80, refused, ""},
			{"b/client", "a/db", "tcp", 6379, passes, ""},
			{"b/client", "a/db", "udp", 53, passes, ""},
			{"b/client", service, "udp", 53, passes, ""},
			{"host", "a/db", "tcp", 80, passes, ""},
			{"a/db", service, "tcp", 80, passes, ""},
			{"a/db", "node", "tcp", 80, passes, ""},
		}},
		{"nothing at all but DNS through its Service", `
- metadata: {name: deny, namespace: a}
  spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
- metadata: {name: ask, namespace: a}
  spec:
    podSelector: {}
    policyTypes: [Egress]
    egress: [{to: [{podSelector: {matchLabels: {app: db}}}], ports: [{port: dns, protocol: UDP}]}]
- metadata: {name: answer, namespace: a}
  spec:
    podSelector: {matchLabels: {app: db}}
    ingress: [{ports: [{port: 53, protocol: UDP}]}]
`, []attempt{
			{"a/frontend", service, "udp", 53, passes, ""},
			{"b/client", service, "udp", 53, passes, ""},
			{"a/frontend", service, "tcp", 53, refused, ""},
			{"a/frontend", "a/other", "udp", 53, refused, ""},
			{"b/client", "a/frontend", "udp", 53, refused, ""},
		}},
		{"a block, pods and a namespace", `
- metadata: {name: test-network-policy, namespace: a}
  spec:
    podSelector: {matchLabels: {app: db}}
    policyTypes: [Ingress, Egress]
    ingress:
    - from:
      - ipBlock: {cidr: 172.17.0.0/16, except: [172.17.1.0/24]}
      - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}
        podSelector: {matchLabels: {app: client}}
      - podSelector: {matchLabels: {app: frontend}}
      ports: [{port: database}]
    egress:
    - to: [{ipBlock: {cidr: 172.17.0.0/24}}]
      ports: [{port: 70, endPort: 80}]
`, []attempt{
			{"a/frontend", "a/db", "tcp", 6379, passes, ""},
			{"b/client", "a/db", "tcp", 6379, passes, ""},
			{"host", "a/db", "tcp", 6379, passes, outside},
			{"host", "a/db", "tcp", 6379, refused, except},
			{"host", "a/db", "tcp", 6379, refused, ""},
			{"a/other", "a/db", "tcp", 6379, refused, ""},
			{"b/other", "a/db", "tcp", 6379, refused, ""},
			{"a/frontend", "a/db", "tcp", 80, refused, ""},
			{"a/frontend", "a/db", "udp", 53, refused, ""},
			{"a/db", outside, "tcp", 80, passes, ""},
			{"a/db", outside, "tcp", 6379, refused, ""},
			{"a/db", except, "tcp", 80, refused, ""},
		}},
		{"both ends must allow, and of each end's policies one", `
- metadata: {name: from-frontend, namespace: a}
  spec:
    podSelector: {matchLabels: {app: db}}
    ingress: [{from: [{podSelector: {matchLabels: {app: frontend}}}], ports: [{port: 80}]}]
- metadata: {name: from-b, namespace: a}
  spec:
    podSelector: {matchLabels: {app: db}}
    ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}}], ports: [{protocol: TCP}]}]
- metadata: {name: to-a, namespace: b}
  spec:
    podSelector: {matchLabels: {app: other}}
    policyTypes: [Egress]
    egress: [{to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}}], ports: [{port: 6379}, {port: 53, protocol: UDP}]}]
`, []attempt{
			{"a/frontend", "a/db", "tcp", 80, passes, ""},
			{"a/frontend", "a/db", "tcp", 6379, refused, ""},
			{"a/other", "a/db", "tcp", 80, refused, ""},
			{"b/client", "a/db", "tcp", 6379, passes, ""},
			{"b/client", "a/db", "udp", 53, refused, ""},
			{"b/other", "a/db", "tcp", 6379, passes, ""},
			{"b/other", service, "tcp", 6379, passes, ""},
			{"b/other", "a/db", "tcp", 80, refused, ""},
			{"b/other", "a/db", "udp", 53, refused, ""},
			{"b/other", "a/frontend", "udp", 53, passes, ""},
			{"b/other", "host", "tcp", 6379, refused, ""},
		}},
		{"pods that are not known yet, when something comes in", `
- metadata: {name: db, namespace: a}
  spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {}}]}]}
`, []attempt{
			{"b/new", "a/db", "tcp", 80, silence, ""},
			{"b/new", "a/frontend", "tcp", 80, passes, ""},
			{"a/db", "b/new", "tcp", 80, silence, ""},
			{"host", "b/new", "tcp", 80, silence, ""},
			{"node", "b/new", "tcp", 80, passes, ""},
			{"a/db", gone, "tcp", 80, refused, ""},
		}},
		{"pods that are not known yet, when something goes out", `
- metadata: {name: nobody, namespace: a}
  spec: {podSelector: {matchLabels: {app: nobody}}, policyTypes: [Egress]}
`, []attempt{
			{"b/new", "a/db", "tcp", 80, silence, ""},
			{"b/new", "node", "tcp", 80, passes, ""},
			{"a/db", "b/new", "tcp", 80, passes, ""},
			{"a/db", "a/frontend", "tcp", 80, passes, ""},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := w.enforce(t, decide(t, test.policies)); err != nil {
				t.Fatal(err)
			}
			w.try(t, test.attempts)
		})
	}
}

func TestReplace(t *testing.T) {
	w := newWorld(t)
	deny := decide(t, `[{metadata: {name: deny, namespace: a}, spec: {podSelector: {}}}]`)
	conn, err := w.dial("b/client", "", "tcp4", netip.AddrPortFrom(netip.MustParseAddr(machines["a/db"]), 80).String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := exchange(conn, patience); err != nil {
		t.Fatalf("before there is a policy: %v", err)
	}
	if err := w.enforce(t, deny); err != nil {
		t.Fatal(err)
	}
	if exchange(conn, patience) == nil {
		t.Error("a policy does not hold for a connection that was there before")
	}
	broken := deny
	broken.Ingress = append(slices.Clone(broken.Ingress), unreadable())
	if w.enforce(t, broken) == nil {
		t.Error("rules that nftables cannot read: want an error")
	}
	w.try(t, []attempt{{"b/client", "a/db", "tcp", 80, refused, ""}})
	if err := w.enforce(t, policy.Rules{}); err != nil {
		t.Fatal(err)
	}
	w.try(t, []attempt{{"b/client", "a/db", "tcp", 80, passes, ""}})
}

// unreadable is a policy that nftables refuses.
func unreadable() policy.Policy {
	return policy.Policy{
		Name: "a/broken", Pods: []netip.Addr{netip.MustParseAddr(machines["a/db"])},
		Allow: []policy.Allow{{Ports: policy.Ports{Protocol: "NONE", First: 1, Last: 1}}},
	}
}

// A change must not open a gap for what both the old and the new rules refuse, nor close one for what both allow.
func TestReplaceLeavesNoGap(t *testing.T) {
	w := newWorld(t)
	const one = `
- metadata: {name: db, namespace: a}
  spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {matchLabels: {app: frontend}}}]}]}
`
	const two = one + `
- metadata: {name: deny, namespace: a}
  spec: {podSelector: {}, policyTypes: [Ingress, Egress], egress: [{}]}
`
	rules := []policy.Rules{decide(t, one), decide(t, two)}
	if err := w.enforce(t, rules[0]); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var watchers sync.WaitGroup
	for from, want := range map[string]outcome{"a/frontend": passes, "b/client": refused} {
		watchers.Go(func() {
			for tries := 0; ; tries++ {
				select {
				case <-done:
					t.Logf("%s tried %d times", from, tries)
					return
				default:
				}
				w.try(t, []attempt{{from, "a/db", "udp", 53, want, ""}})
			}
		})
	}
	for i := range 30 {
		if err := w.enforce(t, rules[i%2]); err != nil {
			t.Error(err)
		}
	}
	close(done)
	watchers.Wait()
}

// The kernel need not have SCTP itself to filter it.
func TestSCTP(t *testing.T) {
	w := newWorld(t)
	rules := decide(t, `
- metadata: {name: db, namespace: a}
  spec: {podSelector: {matchLabels: {app: db}}, ingress: [{from: [{podSelector: {}}], ports: [{port: 90, endPort: 99, protocol: SCTP}]}]}
`)
	if err := w.enforce(t, rules); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from string
		port uint16
		want bool
	}{
		{"a/frontend", 90, true}, {"a/frontend", 99, true}, {"a/frontend", 100, false}, {"b/client", 90, false},
	} {
		if got := w.sendSCTP(t, test.from, "a/db", test.port); got != test.want {
			t.Errorf("%s to port %d of SCTP: arrived is %t, want %t", test.from, test.port, got, test.want)
		}
	}
}

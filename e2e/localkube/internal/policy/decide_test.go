package policy

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// objects is the cluster that tests look at; each pod's last byte of address stands for it.
const objects = `
namespaces:
- metadata: {name: default, labels: {kubernetes.io/metadata.name: default}}
- metadata: {name: other, labels: {kubernetes.io/metadata.name: other, project: myproject, user: alice}}
- metadata: {name: third, labels: {kubernetes.io/metadata.name: third}}
pods:
- metadata: {name: db, namespace: default, labels: {role: db}}
  spec: {containers: [{ports: [{name: redis, containerPort: 6379}, {name: metrics, containerPort: 9121}]}]}
  status: {phase: Running, podIPs: [{ip: 10.244.0.2}, {ip: "fd00::2"}]}
- metadata: {name: db-new, namespace: default, labels: {role: db, version: "2"}}
  spec: {containers: [{ports: [{name: redis, containerPort: 7000}, {name: dns, containerPort: 53, protocol: UDP}]}]}
  status: {phase: Running, podIPs: [{ip: 10.244.0.3}]}
- metadata: {name: frontend, namespace: default, labels: {role: frontend}}
  status: {phase: Running, podIPs: [{ip: 10.244.0.4}]}
- metadata: {name: idle, namespace: default, labels: {role: idle}}
  spec:
    initContainers:
    - {restartPolicy: Always, ports: [{name: http, containerPort: 8080}]}
    - {ports: [{name: setup, containerPort: 8081}]}
  status: {phase: Running, podIPs: [{ip: 10.244.0.5}]}
- metadata: {name: client, namespace: other, labels: {role: client}}
  status: {phase: Running, podIPs: [{ip: 10.244.0.6}]}
- metadata: {name: frontend, namespace: other, labels: {role: frontend}}
  status: {phase: Running, podIPs: [{ip: 10.244.0.7}]}
- metadata: {name: client, namespace: third, labels: {role: client}}
  status: {phase: Running, podIPs: [{ip: 10.244.0.8}]}
- metadata: {name: on-host, namespace: default, labels: {role: db}}
  spec: {hostNetwork: true}
  status: {phase: Running, podIPs: [{ip: 10.123.0.1}]}
- metadata: {name: done, namespace: default, labels: {role: db}}
  status: {phase: Succeeded, podIPs: [{ip: 10.244.0.9}]}
- metadata: {name: failed, namespace: default, labels: {role: db}}
  status: {phase: Failed, podIPs: [{ip: 10.244.0.9}]}
- metadata: {name: starting, namespace: default, uid: starting, labels: {role: frontend}}
  status: {phase: Pending}
- metadata: {name: scheduled, namespace: default, uid: scheduled, labels: {role: frontend}}
  status: {phase: Pending}
`

// Names of the addresses above, and of some outside.
var names = map[string]string{
	"db": "10.244.0.2", "db-new": "10.244.0.3", "frontend": "10.244.0.4", "idle": "10.244.0.5",
	"other/client": "10.244.0.6", "other/frontend": "10.244.0.7", "third/client": "10.244.0.8",
	"node": "10.123.0.1", "ended": "10.244.0.9", "starting": "10.244.0.10",
}

func newCluster(t *testing.T, policies string) Cluster {
	t.Helper()
	var c Cluster
	if err := yaml.UnmarshalStrict([]byte(objects), &c); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(policies), &c.Policies); err != nil {
		t.Fatal(err)
	}
	c.Sandboxes = map[types.UID][]netip.Addr{"starting": {netip.MustParseAddr(names["starting"])}}
	return c
}

// connection is what the rules are asked about.
type connection struct {
	from, to string // a name, or an address
	protocol corev1.Protocol
	port     uint16
	want     bool
}

func address(name string) netip.Addr {
	if known, exists := names[name]; exists {
		name = known
	}
	return netip.MustParseAddr(name)
}

// passes is how rules are meant to be read.
func passes(rules Rules, c connection) bool {
	from, to := address(c.from), address(c.to)
	allows := func(allow Allow) bool {
		ports := allow.Ports
		return allow.From.Contains(from) && allow.To.Contains(to) &&
			(ports.Protocol == "" || ports.Protocol == c.protocol) &&
			(ports.Last == 0 || ports.First <= c.port && c.port <= ports.Last)
	}
	direction := func(policies []Policy, isolated netip.Addr) bool {
		var apply []Policy
		for _, policy := range policies {
			if slices.Contains(policy.Pods, isolated) {
				apply = append(apply, policy)
			}
		}
		allowed := func(policy Policy) bool { return slices.ContainsFunc(policy.Allow, allows) }
		return len(apply) == 0 || slices.ContainsFunc(apply, allowed)
	}
	return direction(rules.Egress, from) && direction(rules.Ingress, to)
}

func TestDecide(t *testing.T) {
	const tcp, udp, sctp = corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP
	for _, test := range []struct {
		name, policies string
		connections    []connection
	}{
		{"no policy", ``, []connection{
			{"frontend", "db", tcp, 6379, true},
		}},

		// What kubernetes.io/docs/concepts/services-networking/network-policies shows.
		{"the example", `
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata:
    name: test-network-policy
    namespace: default
  spec:
    podSelector:
      matchLabels:
        role: db
    policyTypes:
    - Ingress
    - Egress
    ingress:
    - from:
      - ipBlock:
          cidr: 172.17.0.0/16
          except:
          - 172.17.1.0/24
      - namespaceSelector:
          matchLabels:
            project: myproject
      - podSelector:
          matchLabels:
            role: frontend
      ports:
      - protocol: TCP
        port: 6379
    egress:
    - to:
      - ipBlock:
          cidr: 10.0.0.0/24
      ports:
      - protocol: TCP
        port: 5978
`, []connection{
			{"frontend", "db", tcp, 6379, true},
			{"frontend", "db-new", tcp, 6379, true},
			{"other/client", "db", tcp, 6379, true},
			{"other/frontend", "db", tcp, 6379, true},
			{"172.17.0.1", "db", tcp, 6379, true},
			{"172.17.2.1", "db", tcp, 6379, true},
			{"172.17.1.1", "db", tcp, 6379, false},
			{"172.18.0.1", "db", tcp, 6379, false},
			{"idle", "db", tcp, 6379, false},
			{"third/client", "db", tcp, 6379, false},
			{"db", "db-new", tcp, 6379, false},
			{"frontend", "db", tcp, 6380, false},
			{"frontend", "db", udp, 6379, false},
			{"db", "10.0.0.9", tcp, 5978, true},
			{"db", "10.0.0.9", tcp, 5979, false},
			{"db", "10.0.1.9", tcp, 5978, false},
			{"db", "frontend", tcp, 5978, false},
			{"frontend", "idle", tcp, 80, true},
		}},
		{"user alice's clients (and)", `
- metadata: {name: and, namespace: default}
  spec:
    podSelector: {}
    ingress:
    - from:
      - namespaceSelector:
          matchLabels:
            user: alice
        podSelector:
          matchLabels:
            role: client
`, []connection{
			{"other/client", "db", tcp, 80, true},
			{"other/frontend", "db", tcp, 80, false},
			{"third/client", "db", tcp, 80, false},
			{"frontend", "db", tcp, 80, false},
		}},
		{"user alice's pods, or clients (or)", `
- metadata: {name: or, namespace: third}
  spec:
    podSelector: {}
    ingress:
    - from:
      - namespaceSelector:
          matchLabels:
            user: alice
      - podSelector:
          matchLabels:
            role: client
`, []connection{
			{"other/client", "third/client", tcp, 80, true},
			{"other/frontend", "third/client", tcp, 80, true},
			{"third/client", "third/client", tcp, 80, true},
			{"frontend", "third/client", tcp, 80, false},
		}},
		{"default-deny-ingress", `
- metadata: {name: default-deny-ingress, namespace: default}
  spec:
    podSelector: {}
    policyTypes:
    - Ingress
`, []connection{
			{"frontend", "db", tcp, 6379, false},
			{"other/client", "db", udp, 53, false},
			{"172.17.0.1", "db", tcp, 6379, false},
			{"frontend", "other/client", tcp, 80, true},
			{"third/client", "other/client", tcp, 80, true},
		}},
		{"allow-all-ingress", `
- metadata: {name: allow-all-ingress, namespace: default}
  spec:
    podSelector: {}
    ingress:
    - {}
    policyTypes:
    - Ingress
- metadata: {name: deny, namespace: default}
  spec: {podSelector: {}, policyTypes: [Ingress]}
`, []connection{
			{"frontend", "db", tcp, 6379, true},
			{"172.17.0.1", "db", sctp, 1, true},
		}},
		{"default-deny-egress", `
- metadata: {name: default-deny-egress, namespace: default}
  spec:
    podSelector: {}
    policyTypes:
    - Egress
`, []connection{
			{"frontend", "db", tcp, 6379, false},
			{"frontend", "other/client", udp, 53, false},
			{"frontend", "172.17.0.1", tcp, 80, false},
			{"other/client", "frontend", tcp, 80, true},
		}},
		{"allow-all-egress", `
- metadata: {name: allow-all-egress, namespace: default}
  spec:
    podSelector: {}
    egress:
    - {}
    policyTypes:
    - Egress
- metadata: {name: deny, namespace: default}
  spec: {podSelector: {}, policyTypes: [Egress]}
`, []connection{
			{"frontend", "db", tcp, 6379, true},
			{"frontend", "172.17.0.1", udp, 53, true},
		}},
		{"default-deny-all", `
- metadata: {name: default-deny-all, namespace: default}
  spec:
    podSelector: {}
    policyTypes:
    - Ingress
    - Egress
`, []connection{
			{"frontend", "db", tcp, 6379, false},
			{"frontend", "other/client", tcp, 80, false},
			{"other/client", "frontend", tcp, 80, false},
			{"other/client", "third/client", tcp, 80, true},
		}},
		{"multi-port-egress", `
- metadata:
    name: multi-port-egress
    namespace: default
  spec:
    podSelector:
      matchLabels:
        role: db
    policyTypes:
    - Egress
    egress:
    - to:
      - ipBlock:
          cidr: 10.0.0.0/24
      ports:
      - protocol: TCP
        port: 32000
        endPort: 32768
`, []connection{
			{"db", "10.0.0.9", tcp, 31999, false},
			{"db", "10.0.0.9", tcp, 32000, true},
			{"db", "10.0.0.9", tcp, 32500, true},
			{"db", "10.0.0.9", tcp, 32768, true},
			{"db", "10.0.0.9", tcp, 32769, false},
			{"db", "10.0.0.9", udp, 32500, false},
			{"db", "10.0.1.9", tcp, 32500, false},
		}},
		{"namespaces by their names", `
- metadata: {name: by-name, namespace: default}
  spec:
    podSelector: {}
    policyTypes: [Egress]
    egress:
    - to:
      - namespaceSelector:
          matchExpressions:
          - key: kubernetes.io/metadata.name
            operator: In
            values: ["other", "missing"]
`, []connection{
			{"frontend", "other/client", tcp, 80, true},
			{"frontend", "third/client", tcp, 80, false},
			{"frontend", "db", tcp, 80, false},
		}},

		// What it leaves open.
		{"types by default: ingress", `
- metadata: {name: types, namespace: default}
  spec: {podSelector: {}}
`, []connection{
			{"other/client", "db", tcp, 80, false},
			{"db", "other/client", tcp, 80, true},
		}},
		{"types by default: both, with rules for egress", `
- metadata: {name: types, namespace: default}
  spec: {podSelector: {}, egress: [{ports: [{port: 80}]}]}
`, []connection{
			{"other/client", "db", tcp, 80, false},
			{"db", "other/client", tcp, 80, true},
			{"db", "other/client", tcp, 81, false},
		}},
		{"types as said, whatever rules there are", `
- metadata: {name: types, namespace: default}
  spec: {podSelector: {}, policyTypes: [Ingress], egress: [{ports: [{port: 80}]}]}
`, []connection{
			{"other/client", "db", tcp, 80, false},
			{"db", "other/client", tcp, 81, true},
		}},
		{"some pods by expressions", `
- metadata: {name: some, namespace: default}
  spec:
    podSelector:
      matchExpressions: [{key: role, operator: In, values: [db]}, {key: version, operator: DoesNotExist}]
`, []connection{
			{"frontend", "db", tcp, 80, false},
			{"frontend", "db-new", tcp, 80, true},
			{"frontend", "idle", tcp, 80, true},
		}},
		{"all pods of all namespaces, and nobody else", `
- metadata: {name: pods, namespace: default}
  spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}
`, []connection{
			{"third/client", "db", tcp, 80, true},
			{"frontend", "db", tcp, 80, true},
			{"172.17.0.1", "db", tcp, 80, false},
			{"ended", "db", tcp, 80, false},
		}},
		{"all pods of one's own namespace", `
- metadata: {name: own, namespace: default}
  spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}
`, []connection{
			{"frontend", "db", tcp, 80, true},
			{"other/frontend", "db", tcp, 80, false},
		}},
		{"a peer that nobody is", `
- metadata: {name: nobody, namespace: default}
  spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: none}}}]}, {from: [{namespaceSelector: {matchLabels: {none: none}}}]}]}
`, []connection{
			{"frontend", "db", tcp, 80, false},
			{"other/client", "db", tcp, 80, false},
		}},
		{"an empty list of peers, and one of ports, are as none", `
- metadata: {name: empty, namespace: default}
  spec: {podSelector: {}, ingress: [{from: [], ports: []}]}
`, []connection{
			{"172.17.0.1", "db", sctp, 80, true},
		}},
		{"blocks: all but some, a bit of the host, pods, IPv6", `
- metadata: {name: blocks, namespace: default}
  spec:
    podSelector: {matchLabels: {role: db}}
    ingress:
    - from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.17.0.0/16, 172.17.1.0/24]}}]
    - from: [{ipBlock: {cidr: 10.244.0.5/31}}, {ipBlock: {cidr: "::/0"}}]
`, []connection{
			{"192.0.2.1", "db", tcp, 80, true},
			{"172.17.1.1", "db", tcp, 80, false},
			{"frontend", "db", tcp, 80, true},
			{"idle", "db", tcp, 80, true},
			{"other/client", "db", tcp, 80, false},
		}},
		{"the protocol is TCP unless it is said", `
- metadata: {name: protocols, namespace: default}
  spec:
    podSelector: {}
    ingress: [{ports: [{port: 80}, {port: 53, protocol: UDP}, {port: 36412, protocol: SCTP}]}]
`, []connection{
			{"frontend", "db", tcp, 80, true},
			{"frontend", "db", udp, 80, false},
			{"frontend", "db", tcp, 53, false},
			{"frontend", "db", udp, 53, true},
			{"frontend", "db", sctp, 36412, true},
			{"frontend", "db", sctp, 80, false},
		}},
		{"all ports of a protocol", `
- metadata: {name: protocol, namespace: default}
  spec: {podSelector: {}, ingress: [{ports: [{protocol: UDP}]}]}
`, []connection{
			{"frontend", "db", udp, 1, true},
			{"frontend", "db", udp, 65535, true},
			{"frontend", "db", tcp, 1, false},
		}},
		{"names of ports are looked up in the receiver: ingress", `
- metadata: {name: named, namespace: default}
  spec:
    podSelector: {}
    ingress:
    - from: [{podSelector: {matchLabels: {role: frontend}}}]
      ports: [{port: redis}, {port: http}, {port: setup}, {port: dns}]
    - ports: [{port: dns, protocol: UDP}]
`, []connection{
			{"frontend", "db", tcp, 6379, true},
			{"frontend", "db", tcp, 7000, false},
			{"frontend", "db-new", tcp, 7000, true},
			{"frontend", "db-new", tcp, 6379, false},
			{"idle", "db", tcp, 6379, false},
			{"frontend", "idle", tcp, 8080, true},
			{"frontend", "idle", tcp, 8081, false},
			{"other/client", "db-new", udp, 53, true},
			{"frontend", "db-new", tcp, 53, false},
			{"frontend", "db", udp, 53, false},
		}},
		{"names of ports are looked up in the receiver: egress", `
- metadata: {name: named, namespace: third}
  spec:
    podSelector: {}
    policyTypes: [Egress]
    egress:
    - to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}}]
      ports: [{port: redis}]
    - to: [{ipBlock: {cidr: 10.244.0.2/32}}]
      ports: [{port: metrics}]
    - ports: [{port: http}]
`, []connection{
			{"third/client", "db", tcp, 6379, true},
			{"third/client", "db", tcp, 7000, false},
			{"third/client", "db-new", tcp, 7000, true},
			{"third/client", "db-new", tcp, 6379, false},
			{"third/client", "db", tcp, 9121, true},
			{"third/client", "idle", tcp, 8080, true},
			{"third/client", "idle", tcp, 6379, false},
			{"third/client", "10.0.0.1", tcp, 6379, false},
		}},
		{"several policies add up", `
- metadata: {name: one, namespace: default}
  spec: {podSelector: {matchLabels: {role: db}}, ingress: [{from: [{podSelector: {matchLabels: {role: frontend}}}], ports: [{port: 1}]}]}
- metadata: {name: two, namespace: default}
  spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: idle}}}], ports: [{port: 2}]}]}
`, []connection{
			{"frontend", "db", tcp, 1, true},
			{"frontend", "db", tcp, 2, false},
			{"idle", "db", tcp, 2, true},
			{"idle", "db", tcp, 1, false},
			{"frontend", "idle", tcp, 1, false},
		}},
		{"both ends must allow", `
- metadata: {name: in, namespace: default}
  spec: {podSelector: {matchLabels: {role: db}}, ingress: [{ports: [{port: 1}, {port: 2}]}]}
- metadata: {name: out, namespace: other}
  spec: {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 2}, {port: 3}]}]}
`, []connection{
			{"other/client", "db", tcp, 1, false},
			{"other/client", "db", tcp, 2, true},
			{"other/client", "db", tcp, 3, false},
			{"other/client", "idle", tcp, 3, true},
			{"frontend", "db", tcp, 1, true},
		}},
		{"pods with hostNetwork are the node", `
- metadata: {name: deny, namespace: default}
  spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
- metadata: {name: db, namespace: third}
  spec: {podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}, podSelector: {matchLabels: {role: db}}}]}]}
`, []connection{
			{"node", "other/client", tcp, 80, true},
			{"other/client", "node", tcp, 80, true},
			{"third/client", "node", tcp, 80, false},
		}},
		{"pods that ended do not have their addresses any more", `
- metadata: {name: deny, namespace: default}
  spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
`, []connection{
			{"ended", "other/client", tcp, 80, true},
			{"other/client", "ended", tcp, 80, true},
		}},
		{"pods that start have their addresses already", `
- metadata: {name: frontend, namespace: default}
  spec: {podSelector: {matchLabels: {role: frontend}}, policyTypes: [Egress], egress: [{ports: [{port: 80}]}]}
- metadata: {name: db, namespace: default}
  spec: {podSelector: {matchLabels: {role: db}}, ingress: [{from: [{podSelector: {matchLabels: {role: frontend}}}]}]}
`, []connection{
			{"starting", "db", tcp, 80, true},
			{"starting", "db", tcp, 81, false},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules, err := Decide(newCluster(t, test.policies))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range test.connections {
				if got := passes(rules, c); got != c.want {
					t.Errorf("%s to %s, %s port %d: passes is %t, want %t", c.from, c.to, c.protocol, c.port, got, c.want)
				}
			}
		})
	}
}

// Who enforces the rules has to know which addresses belong to pods, and that there is a policy even if it selects none.
func TestDecideKnowsPods(t *testing.T) {
	rules, err := Decide(newCluster(t, `[{metadata: {name: nobody, namespace: missing}, spec: {podSelector: {}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pod := range rules.Pods {
		got = append(got, pod.String()[len("10.244.0."):])
	}
	if text := strings.Join(got, " "); text != "2 3 4 5 6 7 8 10" {
		t.Errorf("the pods are %s", text)
	}
	if len(rules.Egress) != 0 || len(rules.Ingress) != 1 || rules.Ingress[0].Name != "missing/nobody" || len(rules.Ingress[0].Pods) != 0 {
		t.Errorf("got %+v", rules)
	}
}

// The kernel is programmed only when rules differ, so the same objects must make the same rules, in whatever order.
func TestDecideIsStable(t *testing.T) {
	c := newCluster(t, `
- metadata: {name: b, namespace: default}
  spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}, {namespaceSelector: {}}], ports: [{port: redis}]}]}
- metadata: {name: a, namespace: default}
  spec: {podSelector: {}, policyTypes: [Egress, Ingress], egress: [{ports: [{port: redis}, {port: http}]}]}
`)
	first, err := Decide(c)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(c.Pods)
	slices.Reverse(c.Policies)
	second, err := Decide(c)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("got first\n%+v\nand then\n%+v", first, second)
	}
}

func TestDecideNamesWhatItCannotRead(t *testing.T) {
	for _, spec := range []string{
		`{podSelector: {matchExpressions: [{key: a, operator: Odd}]}}`,
		`{podSelector: {}, ingress: [{from: [{podSelector: {matchExpressions: [{key: a, operator: Odd}]}}]}]}`,
		`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: a, operator: Odd}]}}]}]}`,
		`{podSelector: {}, egress: [{to: [{ipBlock: {cidr: here}}]}]}`,
		`{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [there]}}]}]}`,
	} {
		_, err := Decide(newCluster(t, `[{metadata: {name: odd, namespace: default}, spec: `+spec+`}]`))
		if err == nil || !strings.Contains(err.Error(), "default/odd") {
			t.Errorf("%s: got %v, want an error that names the policy", spec, err)
		}
	}
}

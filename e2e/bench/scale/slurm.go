package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// nodeText is a node as a real slurmrestd writes it, for a 24.11 with one node of one CPU.
//
//go:embed node.json
var nodeText []byte

// slurms answers as slurmrestd and the agent of every cluster, at the addresses of their controller pods. It knows only
// what the operator asks: nodes, which register when their pods run, and no jobs.
type slurms struct {
	kube *kube.Kube
	// plain is what all nodes have in common.
	plain map[string]json.RawMessage

	mu sync.Mutex
	// byAddress are the clusters by the address of their controller pod.
	byAddress map[string]*slurm
	byName    map[client.ObjectKey]*slurm
	servers   []*http.Server
	cancel    context.CancelFunc
}

// slurm is one cluster's.
type slurm struct {
	config string
	nodes  map[string]*node
	// running are the pods that run, by node, and registered how often each node has.
	running    map[string]bool
	registered map[string]int
}

type node struct {
	state    []string
	reason   string
	reasonAt int64
}

func startSlurms(ctx context.Context, k *kube.Kube, namespaces ...string) (*slurms, error) {
	s := &slurms{kube: k, byAddress: map[string]*slurm{}, byName: map[client.ObjectKey]*slurm{}}
	if err := json.Unmarshal(nodeText, &s.plain); err != nil {
		return nil, fmt.Errorf("reading node.json: %w", err)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	for _, namespace := range namespaces {
		factory := informers.NewSharedInformerFactoryWithOptions(k.Set, 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = contract.LabelCluster }))
		for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Pods().Informer(), factory.Core().V1().ConfigMaps().Informer()} {
			if _, err := informer.AddEventHandler(s.follower()); err != nil {
				return nil, err
			}
		}
		factory.Start(ctx.Done())
	}
	for port, handler := range map[int]http.Handler{contract.PortSlurmrestd: http.HandlerFunc(s.rest), contract.PortAgent: http.HandlerFunc(s.agent)} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("0.0.0.0", strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		s.servers = append(s.servers, server)
		go func() { _ = server.Serve(listener) }() // until stop
	}
	return s, nil
}

func (s *slurms) stop(context.Context) error {
	s.cancel()
	for _, server := range s.servers {
		_ = server.Close() // nobody is left who asks
	}
	return nil
}

// follower sees what Kubernetes does.
func (s *slurms) follower() cache.ResourceEventHandler {
	see := func(o any, gone bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch o := o.(type) {
		case *corev1.ConfigMap:
			s.of(o).config = contract.ConfigHash(o.Data)
		case *corev1.Pod:
			s.saw(o, gone)
		case cache.DeletedFinalStateUnknown:
			if pod, ok := o.Obj.(*corev1.Pod); ok {
				s.saw(pod, true)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { see(o, false) },
		UpdateFunc: func(_, o any) { see(o, false) },
		DeleteFunc: func(o any) { see(o, true) },
	}
}

func (s *slurms) of(o client.Object) *slurm {
	name := client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()[contract.LabelCluster]}
	if s.byName[name] == nil {
		s.byName[name] = &slurm{nodes: map[string]*node{}, running: map[string]bool{}, registered: map[string]int{}}
	}
	return s.byName[name]
}

func (s *slurms) saw(pod *corev1.Pod, gone bool) {
	cluster := s.of(pod)
	if pod.Labels[contract.LabelRole] != contract.RoleSlurmd {
		if pod.Status.PodIP != "" {
			s.byAddress[pod.Status.PodIP] = cluster
		}
		return
	}
	name := pod.Labels[contract.LabelNode]
	runs := !gone && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning
	if before := cluster.running[name]; runs && !before {
		n := cluster.nodes[name]
		if n == nil {
			n = &node{}
			cluster.nodes[name] = n
		}
		n.state, n.reason, n.reasonAt = []string{"IDLE", "DYNAMIC_NORM", "DRAIN"}, contract.ReasonRegistering, time.Now().Unix()
		cluster.registered[name]++
	}
	cluster.running[name] = runs
}

func (s *slurms) registrations(namespace, cluster, name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[client.ObjectKey{Namespace: namespace, Name: cluster}].registered[name]
}

func (s *slurms) usable(namespace, cluster, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.byName[client.ObjectKey{Namespace: namespace, Name: cluster}].nodes[name]
	return n != nil && slices.Equal(n.state, []string{"IDLE", "DYNAMIC_NORM"})
}

// asked is the cluster whose controller pod a request was sent to.
func (s *slurms) asked(w http.ResponseWriter, r *http.Request) *slurm {
	address, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	cluster := s.byAddress[address]
	if cluster == nil {
		http.Error(w, "no cluster at "+address, http.StatusNotFound)
	}
	return cluster
}

func (s *slurms) agent(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cluster := s.asked(w, r); cluster != nil {
		_ = json.NewEncoder(w).Encode(contract.AgentConfig{RunningHash: cluster.config}) // to one that has gone
	}
}

// rest answers as slurmrestd.
func (s *slurms) rest(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cluster := s.asked(w, r)
	if cluster == nil {
		return
	}
	what, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/slurm/v0.0.42/"), "/")
	answer := map[string]any{"meta": map[string]any{"slurm": map[string]any{"release": "24.11.5"}}, "errors": []any{}, "warnings": []any{}}
	switch {
	case what == "jobs":
		answer["jobs"] = []any{}
	case what == "nodes":
		list := make([]any, 0, len(cluster.nodes))
		for _, name := range slices.Sorted(maps.Keys(cluster.nodes)) {
			list = append(list, s.describe(name, cluster.nodes[name]))
		}
		answer["nodes"] = list
	case what != "node":
		http.NotFound(w, r)
		return
	case cluster.nodes[name] == nil:
		answer["errors"] = []any{map[string]any{"description": "Failure to query node " + name, "error_number": 0, "error": "No error"}}
	case r.Method == http.MethodDelete:
		delete(cluster.nodes, name)
	case r.Method == http.MethodPost:
		var change struct {
			State  []string `json:"state"`
			Reason string   `json:"reason"`
		}
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil || len(change.State) != 1 {
			http.Error(w, "not a change of a node", http.StatusBadRequest)
			return
		}
		cluster.nodes[name].change(change.State[0], change.Reason)
	default:
		answer["nodes"] = []any{s.describe(name, cluster.nodes[name])}
	}
	_ = json.NewEncoder(w).Encode(answer) // to one that has gone
}

func (n *node) change(state, reason string) {
	switch state {
	case "DRAIN":
		n.state = []string{"IDLE", "DYNAMIC_NORM", "DRAIN"}
	case "DOWN":
		n.state = []string{"DOWN", "DYNAMIC_NORM"}
	default:
		n.state = []string{"IDLE", "DYNAMIC_NORM"}
	}
	if reason == "none" {
		reason = ""
	}
	n.reason, n.reasonAt = reason, time.Now().Unix()
}

// describe describes a node at the length at which slurmrestd does.
func (s *slurms) describe(name string, n *node) map[string]json.RawMessage {
	o := maps.Clone(s.plain)
	for key, value := range map[string]any{"name": name, "hostname": name, "state": n.state, "reason": n.reason,
		"reason_changed_at": map[string]any{"set": true, "number": n.reasonAt}} {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // of strings and numbers
		}
		o[key] = text
	}
	return o
}

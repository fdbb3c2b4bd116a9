package nodeplan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

func node(name string, reason string, state ...string) slurm.Node {
	return slurm.Node{Name: name, Reason: reason, State: state}
}

// pod n of set cpu, running, made from hash "a".
func pod(n int, change ...func(*Pod)) Pod {
	p := Pod{Node: nodeName("cpu", n), Set: "cpu", Index: n, Hash: "a", Started: true, Running: true, Overdue: true}
	for _, c := range change {
		c(&p)
	}
	return p
}

func leaving(p *Pod)    { p.Leaving = true }
func notStarted(p *Pod) { p.Started, p.Running = false, false }
func stopped(p *Pod)    { p.Running, p.Lost = false, true }
func outdated(p *Pod)   { p.Hash = "old" }
func starting(p *Pod)   { p.Overdue = false }
func ended(p *Pod)      { p.Ended, p.Leaving = true, true }

func sets(replicas int) []Set { return []Set{{Name: "cpu", Replicas: replicas, Hash: "a"}} }

func lines(steps []Step) []string {
	out := []string{}
	for _, s := range steps {
		out = append(out, fmt.Sprintf("%s %s: %s", s.Action, s.Node, s.Why))
	}
	return out
}

func TestMake(t *testing.T) {
	const (
		registering = contract.ReasonRegistering
		scaleIn     = contract.ReasonPrefix + WhyScaleIn
		update      = contract.ReasonPrefix + WhyUpdate
		podLost     = contract.ReasonPrefix + WhyPodLost
		resize      = contract.ReasonPrefix + WhyResize
		admin       = "bad disk"
	)
	known := func(o Observation) Observation { o.Known = true; return o }
	// one node of one pod, which says something of its size
	says := func(extra string, n slurm.Node, change ...func(*Pod)) Observation {
		n.Extra = extra
		return known(Observation{Sets: sets(1), Pods: []Pod{pod(0, change...)}, Nodes: []slurm.Node{n}})
	}
	impatient := func(p *Pod) { p.Impatient = true }
	grow, shrink, unusable := contract.ExtraGrow+"CPUs=2", contract.ExtraShrink+"CPUs=1", contract.ExtraUnusable+"x"
	tests := []struct {
		name string
		o    Observation
		want []string
	}{
		{"new set", Observation{Sets: sets(2), New: true},
			[]string{"CreatePod cpu-0: " + WhyMissing, "CreatePod cpu-1: " + WhyMissing}},
		{"grows, free", says(grow, node("cpu-0", "", "IDLE")), []string{"Drain cpu-0: " + WhyResize}},
		{"grows, busy: no job is kept from it", says(grow, node("cpu-0", "", "MIXED")), []string{"Wait cpu-0: " + WhyBusy}},
		{"grows, busy for long", says(grow, node("cpu-0", "", "MIXED"), impatient), []string{"Drain cpu-0: " + WhyResize}},
		{"grows, drained and busy again", says(grow, node("cpu-0", resize, "MIXED", "DRAIN")), []string{"Wait cpu-0: " + WhyBusy}},
		{"grows, drained and free", says(grow, node("cpu-0", resize, "IDLE", "DRAIN")), []string{"DeleteNode cpu-0: " + WhyResize}},
		{"shrinks, busy", says(shrink, node("cpu-0", "", "MIXED")), []string{"Drain cpu-0: " + WhyResize}},
		{"shrinks, drained and busy", says(shrink, node("cpu-0", resize, "ALLOCATED", "DRAIN")), []string{"Wait cpu-0: " + WhyBusy}},
		{"shrinks, drained and free", says(shrink, node("cpu-0", resize, "IDLE", "DRAIN")), []string{"DeleteNode cpu-0: " + WhyResize}},
		{"shrinks, found invalid by Slurm", says(shrink, node("cpu-0", "Low CPUs", "IDLE", "DRAIN", "INVALID_REG")), []string{"DeleteNode cpu-0: " + WhyResize}},
		{"shrinks, found invalid by Slurm and busy", says(shrink, node("cpu-0", "Low CPUs", "MIXED", "DRAIN", "INVALID_REG")), []string{"Wait cpu-0: " + WhyAdmin}},
		{"shrinks, drained by an administrator", says(shrink, node("cpu-0", admin, "IDLE", "DRAIN")), []string{"Wait cpu-0: " + WhyAdmin}},
		{"resized and removed", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, starting)}}), []string{}},
		{"content again", says("", node("cpu-0", resize, "IDLE", "DRAIN")), []string{"Resume cpu-0: " + WhyStays}},
		{"unusable", says(unusable, node("cpu-0", "", "IDLE")), []string{"Drain cpu-0: " + WhyResize}},
		{"unusable and drained: it stays", says(unusable, node("cpu-0", resize, "IDLE", "DRAIN")), []string{}},
		{"an administrator's words", says("rack 7", node("cpu-0", "", "IDLE")), []string{}},
		{"steady", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", "", "IDLE")}}),
			[]string{}},
		{"registers", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", registering, "IDLE", "DRAIN")}}),
			[]string{"Admit cpu-0: " + WhyRegistered}},
		{"registers before the kubelet tells", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, notStarted)}, Nodes: []slurm.Node{node("cpu-0", registering, "IDLE", "DRAIN")}}),
			[]string{"Admit cpu-0: " + WhyRegistered}},
		{"drained by an administrator", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", admin, "IDLE", "DRAIN")}}),
			[]string{}},
		{"lowest free index", known(Observation{Sets: sets(3), Pods: []Pod{pod(0), pod(2)},
			Nodes: []slurm.Node{node("cpu-0", "", "IDLE"), node("cpu-2", "", "IDLE")}}),
			[]string{"CreatePod cpu-1: " + WhyMissing}},
		{"scale-in takes the newest idle", known(Observation{Sets: sets(2), Pods: []Pod{pod(0), pod(1), pod(2)},
			Nodes: []slurm.Node{node("cpu-0", "", "IDLE"), node("cpu-1", "", "IDLE"), node("cpu-2", "", "ALLOCATED")}}),
			[]string{"Drain cpu-1: " + WhyScaleIn}},
		{"scale-in deletes what is drained and idle", known(Observation{Sets: sets(1), Pods: []Pod{pod(0), pod(1)},
			Nodes: []slurm.Node{node("cpu-0", scaleIn, "IDLE", "DRAIN"), node("cpu-1", "", "IDLE")}}),
			[]string{"DeletePod cpu-0: " + WhyScaleIn}},
		{"scale-in waits for jobs", known(Observation{Sets: sets(0), Pods: []Pod{pod(0)},
			Nodes: []slurm.Node{node("cpu-0", scaleIn, "MIXED", "DRAIN")}}),
			[]string{"Wait cpu-0: " + WhyBusy}},
		{"scale-in waits while a job completes", known(Observation{Sets: sets(0), Pods: []Pod{pod(0)},
			Nodes: []slurm.Node{node("cpu-0", scaleIn, "IDLE", "DRAIN", "COMPLETING")}}),
			[]string{"Wait cpu-0: " + WhyBusy}},
		{"scale-in leaves an administrator's node", known(Observation{Sets: sets(0), Pods: []Pod{pod(0)},
			Nodes: []slurm.Node{node("cpu-0", admin, "IDLE", "DRAIN")}}),
			[]string{"Wait cpu-0: " + WhyAdmin}},
		{"scale-in while slurmctld cannot be asked", Observation{Sets: sets(1), Pods: []Pod{pod(0), pod(1), pod(2, notStarted)}},
			[]string{"Wait cpu-1: " + WhyUnknown, "DeletePod cpu-2: " + WhyScaleIn}},
		{"scale-in undone", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", scaleIn, "IDLE", "DRAIN")}}),
			[]string{"Resume cpu-0: " + WhyStays}},
		{"drained pod is going", known(Observation{Sets: sets(0), Pods: []Pod{pod(0, leaving)},
			Nodes: []slurm.Node{node("cpu-0", scaleIn, "IDLE", "DRAIN")}}),
			[]string{}},
		{"drained pod is gone", known(Observation{Sets: sets(0), Nodes: []slurm.Node{node("cpu-0", scaleIn, "IDLE", "DRAIN")}}),
			[]string{"DeleteNode cpu-0: " + WhyPodGone}},
		{"lost pod", known(Observation{Sets: sets(1), Nodes: []slurm.Node{node("cpu-0", "", "ALLOCATED")}}),
			[]string{"Down cpu-0: " + WhyPodLost}},
		{"lost pod, still there", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, leaving)}, Nodes: []slurm.Node{node("cpu-0", "", "ALLOCATED")}}),
			[]string{"Down cpu-0: " + WhyPodLost}},
		{"lost pod, jobs end", known(Observation{Sets: sets(1), Nodes: []slurm.Node{node("cpu-0", podLost, "DOWN", "COMPLETING")}}),
			[]string{}},
		{"lost pod, jobs requeued", known(Observation{Sets: sets(1), Nodes: []slurm.Node{node("cpu-0", podLost, "DOWN")}}),
			[]string{"DeleteNode cpu-0: " + WhyPodGone}},
		{"lost pod of an administrator's node comes back into its drain", known(Observation{Sets: sets(1), Nodes: []slurm.Node{node("cpu-0", admin, "DOWN", "DRAIN")}}),
			[]string{"CreatePod cpu-0: " + WhyMissing}},
		{"evicted pod", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, ended)}, Nodes: []slurm.Node{node("cpu-0", "", "IDLE")}}),
			[]string{"Down cpu-0: " + WhyPodLost, "DeletePod cpu-0: " + WhyPodEnded}},
		{"name waits for the pod that is going", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, leaving)}}), []string{}},
		{"slurmd ended", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, stopped)}, Nodes: []slurm.Node{node("cpu-0", "", "IDLE")}}),
			[]string{"Down cpu-0: " + WhySlurmdDown}},
		{"slurmd is back", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", contract.ReasonPrefix+WhySlurmdDown, "DOWN")}}),
			[]string{"Resume cpu-0: " + WhySlurmdBack}},
		{"slurmctld lost its nodes", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}}),
			[]string{"DeletePod cpu-0: " + WhyUnregistered}},
		{"slurmctld has only just come", known(Observation{Sets: sets(1), Pods: []Pod{pod(0, starting)}}), []string{}},
		{"update: one idle node first", known(Observation{Sets: sets(3), Pods: []Pod{pod(0, outdated), pod(1, outdated), pod(2, outdated)},
			Nodes: []slurm.Node{node("cpu-0", "", "MIXED"), node("cpu-1", "", "IDLE"), node("cpu-2", "", "IDLE")}}),
			[]string{"Drain cpu-1: " + WhyUpdate}},
		{"update: the next waits for the one before", known(Observation{Sets: sets(2), Pods: []Pod{pod(0), pod(1, outdated)},
			Nodes: []slurm.Node{node("cpu-1", "", "IDLE")}}),
			[]string{"DeletePod cpu-0: " + WhyUnregistered}},
		{"update: drained and idle", known(Observation{Sets: sets(2), Pods: []Pod{pod(0, outdated), pod(1, outdated)},
			Nodes: []slurm.Node{node("cpu-0", update, "IDLE", "DRAIN"), node("cpu-1", "", "IDLE")}}),
			[]string{"DeletePod cpu-0: " + WhyUpdate}},
		{"update: busy when none is idle", known(Observation{Sets: sets(2), Pods: []Pod{pod(0, outdated), pod(1, outdated)},
			Nodes: []slurm.Node{node("cpu-0", "", "ALLOCATED"), node("cpu-1", "", "ALLOCATED")}}),
			[]string{"Drain cpu-0: " + WhyUpdate}},
		{"update: pods that never ran, at once, without slurmctld", Observation{Sets: sets(2), Pods: []Pod{pod(0, outdated, notStarted), pod(1, outdated, notStarted)}},
			[]string{"DeletePod cpu-0: " + WhyUpdate, "DeletePod cpu-1: " + WhyUpdate}},
		{"update: not while slurmctld cannot be asked", Observation{Sets: sets(1), Pods: []Pod{pod(0, outdated)}}, []string{}},
		{"update undone", known(Observation{Sets: sets(1), Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", update, "IDLE", "DRAIN")}}),
			[]string{"Resume cpu-0: " + WhyStays}},
		{"set removed", known(Observation{Pods: []Pod{pod(0)}, Nodes: []slurm.Node{node("cpu-0", "", "IDLE")}}),
			[]string{"Drain cpu-0: " + WhyScaleIn}},
		{"somebody else's node", known(Observation{Sets: sets(0), Nodes: []slurm.Node{node("login", "", "IDLE"), node("metal-7", "", "IDLE")}}),
			[]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, lines(Make(tt.o)))
		})
	}
}

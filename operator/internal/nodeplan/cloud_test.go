package nodeplan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

var noon = time.Unix(1_000_000, 0)

// ago is a time as Slurm tells it.
func ago(d time.Duration) slurm.Time { return slurm.Time{Set: true, Number: noon.Add(-d).Unix()} }

// scaled is an observation of set cpu with up to max nodes of 2 CPUs, of which nothing is there yet.
func scaled(least, most int, change ...func(*Observation)) Observation {
	o := Observation{Known: true, Now: noon, StartingSince: map[string]time.Time{}, Sets: []Set{{
		Name: "cpu", Hash: "a", MaxUnavailable: 1,
		Cloud: &Cloud{
			Min: least, Max: most, IdleTimeout: time.Minute, StartTimeout: 5 * time.Minute,
			Node: contract.CloudNodes{CPUs: 2, MemoryMB: 100, Features: []string{"cpu", "x"}, Gres: "gpu:1"},
		},
	}}}
	for _, c := range change {
		c(&o)
	}
	return o
}

// with adds node n of the set as Slurm knows it.
func with(n int, reason string, state ...string) func(*Observation) {
	return func(o *Observation) {
		o.Nodes = append(o.Nodes, slurm.Node{
			Name: nodeName("cpu", n), Reason: reason, State: append(state, "CLOUD", "DYNAMIC_NORM"),
			CPUs: 2, RealMemory: 100, Features: []string{"x", "cpu"}, Gres: "gpu:1", LastBusy: ago(10 * time.Second), ReasonChangedAt: ago(time.Minute),
		})
	}
}

// withPod adds its pod.
func withPod(n int, change ...func(*Pod)) func(*Observation) {
	return func(o *Observation) {
		p := pod(n, change...)
		p.RunningSince = noon.Add(-time.Second)
		o.Pods = append(o.Pods, p)
	}
}

// idleFor lets the node that was added last be idle for some time.
func idleFor(d time.Duration) func(*Observation) {
	return func(o *Observation) { o.Nodes[len(o.Nodes)-1].LastBusy = ago(d) }
}

func startingFor(n int, d time.Duration) func(*Observation) {
	return func(o *Observation) { o.StartingSince[nodeName("cpu", n)] = noon.Add(-d) }
}

func TestCloud(t *testing.T) {
	const (
		admin      = "bad disk"
		update     = contract.ReasonPrefix + WhyUpdate
		notStarted = contract.ReasonPrefix + WhyNotStarted + ": no place"
		podLost    = contract.ReasonPrefix + WhyPodLost
	)
	tests := []struct {
		name string
		o    Observation
		want []string
	}{
		{"Slurm is told of all nodes", scaled(0, 2), []string{"CreateNode cpu-0: " + WhyMissing, "CreateNode cpu-1: " + WhyMissing}},
		{"nobody needs a node", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN")), []string{}},
		{"one is always wanted", scaled(1, 2, with(0, "", "IDLE", "POWERED_DOWN"), with(1, "", "IDLE", "POWERED_DOWN")), []string{"PowerUp cpu-0: " + WhyMissing}},
		{"one is being switched on", scaled(1, 2, with(0, "", "IDLE", "POWERED_DOWN"), with(1, "", "ALLOCATED", "POWERING_UP"), withPod(1)), []string{}},
		{"Slurm will switch it on", scaled(0, 1, with(0, "", "ALLOCATED", "POWERED_DOWN")), []string{}},
		{"Slurm has switched it on", scaled(0, 1, with(0, "", "ALLOCATED", "POWERING_UP", "NOT_RESPONDING")), []string{"CreatePod cpu-0: " + WhySwitchedOn}},
		{"its pod starts", scaled(0, 1, with(0, "", "ALLOCATED", "POWERING_UP", "NOT_RESPONDING"), withPod(0, notStartedPod)), []string{}},
		{"its pod could not start and was changed", scaled(0, 1, with(0, "", "ALLOCATED", "POWERING_UP"), withPod(0, notStartedPod, outdated, func(p *Pod) { p.Stuck = true })), []string{"DeletePod cpu-0: " + WhyUpdate}},
		{"its pod starts, and was changed", scaled(0, 1, with(0, "", "ALLOCATED", "POWERING_UP"), withPod(0, notStartedPod, outdated)), []string{}},
		{"it takes too long", scaled(0, 1, with(0, "", "ALLOCATED", "POWERING_UP"), withPod(0, notStartedPod), startingFor(0, 6*time.Minute)), []string{"Down cpu-0: " + WhyNotStarted}},
		{"it took too long", scaled(0, 1, with(0, notStarted, "DOWN", "POWERING_UP"), withPod(0, notStartedPod)), []string{"PowerDown cpu-0: " + WhyNotStarted}},
		{"it rests", scaled(0, 1, with(0, notStarted, "DOWN", "POWERED_DOWN")), []string{}},
		{"it has rested", scaled(0, 1, with(0, notStarted, "DOWN", "POWERED_DOWN"), func(o *Observation) { o.Nodes[0].ReasonChangedAt = ago(6 * time.Minute) }),
			[]string{"Admit cpu-0: " + WhySwitchedOff}},
		{"Slurm waits for what is off", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN", "NOT_RESPONDING")), []string{"PowerDown cpu-0: " + WhyNotResponding}},
		{"Slurm waits for what is off, and switches it off again", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN", "NOT_RESPONDING", "POWER_DOWN")), []string{}},
		{"Slurm set it down before it was switched off", scaled(0, 1, with(0, "Not responding", "DOWN", "POWERED_DOWN")), []string{"Admit cpu-0: " + WhySwitchedOff}},
		{"down and switched off by an administrator", scaled(0, 1, with(0, admin, "DOWN", "POWERED_DOWN")), []string{}},
		{"Slurm gave up on it", scaled(0, 1, with(0, "ResumeTimeout reached", "DOWN", "POWERED_DOWN")), []string{}},
		{"a pod from before it was switched off", scaled(0, 1, with(0, "", "ALLOCATED", "POWERING_UP"), withPod(0), startingFor(0, time.Minute),
			func(o *Observation) { o.Pods[0].RunningSince = noon.Add(-time.Hour) }), []string{"DeletePod cpu-0: " + WhyUnregistered}},
		{"busy", scaled(0, 1, with(0, "", "ALLOCATED"), withPod(0)), []string{}},
		{"idle, not for long", scaled(0, 1, with(0, "", "IDLE"), withPod(0)), []string{}},
		{"idle for long, the last one goes", scaled(1, 2, with(0, "", "IDLE"), idleFor(time.Hour), withPod(0), with(1, "", "IDLE"), idleFor(time.Hour), withPod(1)),
			[]string{"PowerDown cpu-1: " + WhyIdle}},
		{"idle for long, but always wanted", scaled(1, 1, with(0, "", "IDLE"), idleFor(time.Hour), withPod(0)), []string{}},
		{"is being switched off when it is free", scaled(0, 1, with(0, "", "ALLOCATED", "POWER_DOWN"), withPod(0)), []string{}},
		{"switched off", scaled(0, 1, with(0, "", "IDLE", "POWERING_DOWN"), withPod(0)), []string{"DeletePod cpu-0: " + WhySwitchedOff}},
		{"switched off, its pod goes", scaled(0, 1, with(0, "", "IDLE", "POWERING_DOWN"), withPod(0, leaving)), []string{}},
		{"switched off, its pod has gone", scaled(0, 1, with(0, "", "IDLE", "POWERING_DOWN")), []string{"Resume cpu-0: " + WhySwitchedOff}},
		{"pod lost", scaled(0, 1, with(0, "", "ALLOCATED")), []string{"Down cpu-0: " + WhyPodLost}},
		{"pod lost, its jobs are requeued", scaled(0, 1, with(0, podLost, "DOWN")), []string{"PowerDown cpu-0: " + WhyPodGone}},
		{"pod lost and switched off", scaled(0, 1, with(0, podLost, "DOWN", "POWERING_DOWN")), []string{"Resume cpu-0: " + WhySwitchedOff}},
		{"pod evicted with notice", scaled(0, 1, with(0, "", "ALLOCATED"), withPod(0, leaving, lingering)), []string{"Drain cpu-0: " + WhyPodGoing}},
		{"drained by an administrator", scaled(0, 1, with(0, admin, "IDLE", "DRAIN"), idleFor(time.Hour), withPod(0)), []string{}},
		{"pod lost, drained by an administrator", scaled(0, 1, with(0, admin, "DOWN", "DRAIN")), []string{}},
		{"off and drained by an administrator", scaled(0, 1, with(0, admin, "IDLE", "DRAIN", "POWERED_DOWN")), []string{}},
		{"fewer are wanted, busy", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN"), with(1, "", "ALLOCATED"), withPod(1)), []string{"Drain cpu-1: " + WhyScaleIn}},
		{"fewer are wanted, idle", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN"), with(1, "", "IDLE"), withPod(1)), []string{"PowerDown cpu-1: " + WhyScaleIn}},
		{"fewer are wanted, off", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN"), with(1, "", "IDLE", "POWERED_DOWN")), []string{"DeleteNode cpu-1: " + WhyScaleIn}},
		{"update: idle ones go", scaled(0, 1, with(0, "", "IDLE"), withPod(0, outdated)), []string{"PowerDown cpu-0: " + WhyUpdate}},
		{"update: busy ones one after the other", scaled(0, 2, with(0, "", "ALLOCATED"), withPod(0, outdated), with(1, "", "ALLOCATED"), withPod(1, outdated)),
			[]string{"Drain cpu-0: " + WhyUpdate}},
		{"update: the first is still busy", scaled(0, 2, with(0, update, "ALLOCATED", "DRAIN"), withPod(0, outdated), with(1, "", "ALLOCATED"), withPod(1, outdated)),
			[]string{"Wait cpu-0: " + WhyBusy}},
		{"update: Slurm knows another size", scaled(0, 1, with(0, "", "IDLE", "POWERED_DOWN"), func(o *Observation) { o.Nodes[0].CPUs = 1 }), []string{"DeleteNode cpu-0: " + WhyUpdate}},
		{"update undone", scaled(0, 1, with(0, update, "ALLOCATED", "DRAIN"), withPod(0)), []string{"Resume cpu-0: " + WhyStays}},
		{"cordoned", scaled(0, 1, with(0, "", "ALLOCATED"), withPod(0, func(p *Pod) { p.Cordoned = true })), []string{"Drain cpu-0: " + WhyCordoned}},
		{"slurmd ended", scaled(0, 1, with(0, "", "ALLOCATED"), withPod(0, stopped)), []string{"Down cpu-0: " + WhySlurmdDown}},
		{"was always on before", scaled(0, 1, func(o *Observation) { o.Nodes = []slurm.Node{node("cpu-0", "", "ALLOCATED")} }, withPod(0, outdated)), []string{"Drain cpu-0: " + WhyUpdate}},
		{"was always on before, its pod has gone", scaled(0, 1, func(o *Observation) { o.Nodes = []slurm.Node{node("cpu-0", update, "IDLE", "DRAIN")} }), []string{"DeleteNode cpu-0: " + WhyPodGone}},
		{"slurmctld lost its nodes", scaled(0, 1, withPod(0)), []string{"DeletePod cpu-0: " + WhyUnregistered}},
		{"not while slurmctld cannot be asked", scaled(0, 1, func(o *Observation) { o.Known = false }, withPod(0)), []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, lines(Make(tt.o)))
		})
	}
}

func notStartedPod(p *Pod) { p.Started, p.Running, p.Overdue = false, false, false }
func lingering(p *Pod)     { p.Lingers = true }

package nodeplan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// How long things take in a world, in ticks.
const (
	startTicks    = 2
	registerTicks = 2
	overdueTicks  = 15
	suspendTicks  = 60
	resumeTicks   = 90
)

// What Slurm has done with a cloud node; an up one is as any other.
type power string

const (
	up          power = ""
	off         power = "POWERED_DOWN"
	booting     power = "POWERING_UP"
	switchedOff power = "POWERING_DOWN"
)

// world is Kubernetes, slurmctld and people, as far as a plan can tell. It breaks the rules of none of them, and it
// complains when a step does harm.
type world struct {
	now      int64
	sets     []Set
	pods     map[string]*simPod
	nodes    map[string]*simNode
	jobs     []*simJob
	silent   bool // slurmctld does not answer the operator
	answered bool // it has answered before
	full     bool // no machine has room
	cordoned map[int]bool
	timeout  int64 // drain time-out of all sets, 0 for none
	grace    int64
	machine  int
	log      []string
	harm     []string
}

type simPod struct {
	Pod
	machine       int
	made          int64
	startedAt     int64
	registersAt   int64
	dieAt         int64 // 0 for a pod that is not being deleted
	deletedByUs   bool
	everKnown     bool
	slurmdStopped bool
}

type simNode struct {
	name, reason string
	drain, down  bool
	since        int64
	cloud        bool
	power        power
	powerSince   int64
	// asked tells that it is to be switched off once it is free, or on.
	askedOff, askedOn bool
	lastBusy          int64
	// mute is the mark that a resume leaves on a node that is off and down or drained: it is not used until it is switched off
	// again.
	mute bool
}

type simJob struct {
	id, width int
	length    int64
	left      int64
	nodes     []string
	runs      int
	done      bool
	lostOn    string // the pod below it has died
}

func newWorld(sets ...Set) *world {
	return &world{sets: sets, pods: map[string]*simPod{}, nodes: map[string]*simNode{}, cordoned: map[int]bool{}, grace: 5}
}

func (w *world) submit(width int, length int64) *simJob {
	j := &simJob{id: len(w.jobs) + 1, width: width, length: length, left: length}
	w.jobs = append(w.jobs, j)
	return j
}

func (w *world) jobsOn(node string) (on []*simJob) {
	for _, j := range w.jobs {
		if slices.Contains(j.nodes, node) {
			on = append(on, j)
		}
	}
	return on
}

func (n *simNode) ours() bool { return strings.HasPrefix(n.reason, contract.ReasonPrefix) }

// tick lets time pass.
func (w *world) tick() {
	w.now++
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		if !p.Started && !p.Leaving && w.now-p.made >= startTicks && !w.cordoned[p.machine] && !w.full {
			p.Started, p.Running, p.startedAt = true, true, w.now
			p.registersAt = w.now + registerTicks
		}
		if p.Running && !p.Leaving && w.now >= p.registersAt {
			w.register(p)
		}
		if n := w.nodes[name]; p.slurmdStopped && (n == nil || n.down) {
			p.slurmdStopped = false // slurmctld knows, and the kubelet has started it again
		}
		if p.dieAt != 0 && (w.now >= p.dieAt || len(w.jobsOn(name)) == 0) {
			w.die(p)
			delete(w.pods, name)
		}
	}
	w.switchNodes()
	w.runJobs()
}

// switchNodes is Slurm's power saving.
func (w *world) switchNodes() {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		busy := len(w.jobsOn(name)) > 0
		switch {
		case !n.cloud:
		case n.power == off && (busy || n.askedOn):
			n.power, n.powerSince, n.askedOn = booting, w.now, false
		case n.power == booting && w.now-n.powerSince > resumeTicks:
			w.requeue(name)
			n.power, n.down, n.drain, n.reason, n.since, n.askedOff = off, true, false, "ResumeTimeout reached", w.now, false
		case n.power == up && n.askedOff && !busy:
			n.power, n.powerSince, n.askedOff, n.drain, n.mute = switchedOff, w.now, false, false, false
		case n.power == off && n.askedOff && !busy:
			n.power, n.powerSince, n.askedOff, n.mute = switchedOff, w.now, false, false
		case n.power == switchedOff && w.now-n.powerSince > suspendTicks:
			n.power = off
		}
		if busy {
			n.lastBusy = w.now
		}
	}
}

func (w *world) register(p *simPod) {
	if n, known := w.nodes[p.Node]; known && n.cloud {
		if n.power == booting && p.startedAt >= n.powerSince {
			n.power, n.lastBusy = up, w.now
		}
		p.everKnown = true
		return
	}
	switch n, known := w.nodes[p.Node]; {
	case known && !p.everKnown && n.down:
		n.down = false // ReturnToService=2
	case !known && !p.everKnown:
		w.nodes[p.Node] = &simNode{name: p.Node, drain: true, reason: contract.ReasonRegistering, since: w.now}
	}
	p.everKnown = true
}

// die ends the processes of a pod. Slurm does not notice.
func (w *world) die(p *simPod) {
	for _, j := range w.jobsOn(p.Node) {
		if n := w.nodes[p.Node]; n != nil && n.power != up {
			continue // it has not begun
		}
		if p.deletedByUs {
			w.harm = append(w.harm, fmt.Sprintf("%d: job %d died with pod %s, which the operator deleted", w.now, j.id, p.Node))
		}
		j.lostOn = p.Node
	}
}

func (w *world) runJobs() {
	for _, j := range w.jobs {
		switch {
		case j.done || j.lostOn != "":
		case slices.ContainsFunc(j.nodes, func(name string) bool { return w.nodes[name] != nil && w.nodes[name].power != up }):
		case len(j.nodes) > 0:
			if j.left--; j.left <= 0 {
				j.done, j.nodes = true, nil
			}
		default:
			if free := w.free(); len(free) >= j.width {
				j.nodes, j.left = free[:j.width], j.length
				j.runs++
			}
		}
	}
}

// free are the nodes that slurmctld would start a job on: it does not know that a slurmd has gone.
func (w *world) free() []string {
	var there, away []string
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		n := w.nodes[name]
		switch {
		case n.drain || n.down || n.askedOff || len(w.jobsOn(name)) > 0:
		case n.power == up && w.alive(name):
			there = append(there, name)
		case n.power == off && !n.mute:
			away = append(away, name)
		}
	}
	return append(there, away...)
}

func (w *world) alive(node string) bool {
	p := w.pods[node]
	return p != nil && p.Running && !p.slurmdStopped
}

// requeue is what setting a node down does to its jobs.
func (w *world) requeue(node string) {
	for _, j := range w.jobsOn(node) {
		j.nodes, j.lostOn = nil, ""
	}
}

// observe is what the operator sees.
func (w *world) observe() Observation {
	o := Observation{
		Sets: slices.Clone(w.sets), Known: !w.silent, New: !w.answered, FreeAt: map[string]int64{},
		Now: at(w.now), StartingSince: map[string]time.Time{},
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		seen := p.Pod
		seen.Cordoned = w.cordoned[p.machine]
		seen.Lost = p.slurmdStopped
		seen.Stuck = !p.Started && w.full
		seen.RunningSince = at(p.startedAt)
		seen.Running = p.Running && !p.slurmdStopped
		seen.Lingers = p.dieAt != 0
		seen.Overdue = p.everKnown || p.Running && w.now-p.made > overdueTicks
		if n := w.nodes[name]; n != nil && w.timeout > 0 {
			seen.Late = n.drain && n.ours() && w.now-n.since >= w.timeout
		}
		o.Pods = append(o.Pods, seen)
	}
	if w.silent {
		return o
	}
	w.answered = true
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		o.Nodes = append(o.Nodes, w.node(name))
		if n := w.nodes[name]; n.power == booting {
			o.StartingSince[name] = at(n.powerSince)
		}
		for _, j := range w.jobsOn(name) {
			o.FreeAt[name] = max(o.FreeAt[name], w.now+j.left)
		}
	}
	return o
}

func (w *world) node(name string) slurm.Node {
	n := w.nodes[name]
	state := "IDLE"
	switch {
	case n.down:
		state = "DOWN"
	case len(w.jobsOn(name)) > 0:
		state = "ALLOCATED"
	}
	node := slurm.Node{Name: name, Reason: n.reason, State: []string{state}}
	if n.drain {
		node.State = append(node.State, "DRAIN")
	}
	if n.cloud {
		node.State = append(node.State, "CLOUD")
		if n.power != up {
			node.State = append(node.State, string(n.power))
		}
		if n.mute {
			node.State = append(node.State, "NOT_RESPONDING")
		}
		if n.askedOff {
			node.State = append(node.State, "POWER_DOWN")
		}
		if n.askedOn {
			node.State = append(node.State, "POWER_UP")
		}
		node.CPUs, node.RealMemory, node.Features = 1, 100, []string{"c"}
		node.LastBusy, node.ReasonChangedAt = slurm.Time{Set: true, Number: w.now0() + n.lastBusy}, slurm.Time{Set: true, Number: w.now0() + n.since}
	}
	return node
}

// at is a tick as a time.
func at(tick int64) time.Time { return time.Unix(1_000_000+tick, 0) }

func (w *world) now0() int64 { return at(0).Unix() }

// scale is what an autoscaled set wants.
func scale(least, most int) *Cloud {
	return &Cloud{
		Min: least, Max: most, IdleTimeout: 10 * time.Second, StartTimeout: 30 * time.Second,
		Node: contract.CloudNodes{CPUs: 1, MemoryMB: 100, Features: []string{"c"}},
	}
}

// do carries out one step.
func (w *world) do(s Step) {
	if s.Action != Wait {
		w.log = append(w.log, fmt.Sprintf("%3d  %-10s %s: %s", w.now, s.Action, s.Node, s.Why))
	}
	n, p := w.nodes[s.Node], w.pods[s.Node]
	mark := func(drain, down bool, reason string) {
		if n != nil {
			n.drain, n.down, n.reason, n.since = drain, down, reason, w.now
		}
	}
	switch s.Action {
	case CreatePod:
		w.create(s)
	case DeletePod:
		w.delete(s, p)
	case Drain:
		if n != nil && n.drain && !n.ours() {
			w.harm = append(w.harm, fmt.Sprintf("%d: an administrator's drain of %s was overwritten", w.now, s.Node))
		}
		mark(true, n != nil && n.down, contract.ReasonPrefix+s.Why)
	case Admit, Resume:
		if n != nil && n.drain && !n.ours() {
			w.harm = append(w.harm, fmt.Sprintf("%d: an administrator's drain of %s was ended", w.now, s.Node))
		}
		if n != nil && s.Action == Resume {
			n.mute = n.cloud && n.power != up && (n.down || n.drain)
			if n.power == switchedOff {
				n.power = off
			}
		}
		mark(false, false, slurm.NoReason)
	case CreateNode:
		if n == nil {
			w.nodes[s.Node] = &simNode{name: s.Node, cloud: true, power: off}
		}
	case PowerUp:
		if n != nil && n.power == off {
			n.askedOn = true
		}
	case PowerDown:
		if n != nil {
			if n.drain && !n.ours() {
				w.harm = append(w.harm, fmt.Sprintf("%d: switching %s off ends an administrator's drain", w.now, s.Node))
			}
			n.askedOff = true
			if n.down && n.power == booting {
				n.power = up // the power-up is over
			}
		}
	case Down:
		w.down(s, n, p)
	case DeleteNode:
		if n != nil && len(w.jobsOn(s.Node)) == 0 {
			delete(w.nodes, s.Node)
			if p != nil {
				p.everKnown = false // it registers again
			}
		}
	case Wait:
	}
}

func (w *world) create(s Step) {
	if w.pods[s.Node] != nil {
		w.harm = append(w.harm, fmt.Sprintf("%d: pod %s was made twice", w.now, s.Node))
		return
	}
	machine := 0
	for w.cordoned[machine] {
		machine++
	}
	w.machine = (w.machine + 1) % 4
	machine = max(machine, w.machine)
	for w.cordoned[machine] {
		machine++
	}
	w.pods[s.Node] = &simPod{Pod: Pod{Node: s.Node, Set: s.Set, Index: s.Index, Hash: w.hash(s.Set)}, machine: machine, made: w.now}
}

func (w *world) hash(set string) string {
	for _, s := range w.sets {
		if s.Name == set {
			return s.Hash
		}
	}
	return ""
}

func (w *world) delete(s Step, p *simPod) {
	if p == nil || p.Leaving || s.Why == WhyUpdate && w.nodes[s.Node] != nil && w.nodes[s.Node].power == booting && p.Started {
		return // the last one is not as it was observed
	}
	if n := w.nodes[s.Node]; n != nil && n.drain && !n.ours() && p.Started && n.power == up {
		w.harm = append(w.harm, fmt.Sprintf("%d: the pod of %s was deleted, which an administrator drained", w.now, s.Node))
	}
	p.Leaving, p.dieAt, p.deletedByUs = true, w.now+1, true
}

func (w *world) down(s Step, n *simNode, p *simPod) {
	if n == nil {
		return
	}
	for _, j := range w.jobsOn(s.Node) {
		if n.power == up && w.alive(s.Node) && !p.Leaving && s.Why != WhyLate && j.lostOn == "" {
			w.harm = append(w.harm, fmt.Sprintf("%d: job %d ran well when its node %s was set down: %s", w.now, j.id, s.Node, s.Why))
		}
	}
	w.requeue(s.Node)
	if n.reason == "" || n.ours() || !n.drain {
		n.reason = contract.ReasonPrefix + s.Why
	}
	n.down, n.since = true, w.now
}

// evict is Kubernetes taking a pod away with notice; kill takes it away without.
func (w *world) evict(node string) {
	if p := w.pods[node]; p != nil && !p.Leaving {
		p.Leaving, p.dieAt = true, w.now+w.grace
	}
}

func (w *world) kill(node string) {
	if p := w.pods[node]; p != nil {
		w.die(p)
		delete(w.pods, node)
	}
}

func (w *world) stopSlurmd(node string) {
	if p := w.pods[node]; p != nil && p.Running {
		w.die(&simPod{Pod: p.Pod})
		p.slurmdStopped = true
	}
}

// out is how many nodes of a set are on their way out or in because of an update.
func (w *world) out(set Set) (out int) {
	present := 0
	for _, p := range w.pods {
		if p.Set != set.Name || p.Leaving {
			continue
		}
		present++
		n := w.nodes[p.Node]
		switch {
		case p.Hash == set.Hash && (n == nil || n.drain || n.down):
			out++
		case p.Hash != set.Hash && n != nil && n.drain && n.reason == contract.ReasonPrefix+WhyUpdate:
			out++
		}
	}
	return out + max(0, set.Replicas-present)
}

// unfinished says what keeps a world from being as it should be.
func (w *world) unfinished() (why []string) {
	for _, set := range w.sets {
		have := 0
		if set.Cloud != nil {
			why = append(why, w.unfinishedCloud(set)...)
			continue
		}
		for _, p := range w.pods {
			if n := w.nodes[p.Node]; p.Set == set.Name {
				have++
				if p.Hash != set.Hash || n == nil || n.down || n.drain && n.ours() {
					why = append(why, "node "+p.Node+" is not in use as wanted")
				}
			}
		}
		if have != set.Replicas {
			why = append(why, fmt.Sprintf("set %s has %d pods", set.Name, have))
		}
	}
	for name, n := range w.nodes {
		if w.pods[name] == nil && n.power == up {
			why = append(why, "node "+name+" has no pod")
		}
	}
	for _, j := range w.jobs {
		if !j.done {
			why = append(why, fmt.Sprintf("job %d has not ended", j.id))
		}
	}
	slices.SortFunc(why, cmp.Compare[string])
	return why
}

// unfinishedCloud: without jobs, an autoscaled set has as many nodes as it always wants, and knows of all.
func (w *world) unfinishedCloud(set Set) (why []string) {
	on := 0
	for index := range set.Cloud.Max {
		name := nodeName(set.Name, index)
		n, p := w.nodes[name], w.pods[name]
		switch {
		case n == nil || !n.cloud || n.down || n.drain && n.ours():
			why = append(why, "node "+name+" cannot be used")
		case n.power == up && p != nil && p.Hash == set.Hash:
			on++
		case n.power != off || p != nil:
			why = append(why, "node "+name+" is neither on nor off")
		}
	}
	if on != set.Cloud.Min {
		why = append(why, fmt.Sprintf("set %s has %d nodes switched on", set.Name, on))
	}
	for name, n := range w.nodes {
		if of, index, _ := splitNodeName(name); of == set.Name && index >= set.Cloud.Max {
			why = append(why, fmt.Sprintf("node %s is not wanted: %+v", name, *n))
		}
	}
	return why
}

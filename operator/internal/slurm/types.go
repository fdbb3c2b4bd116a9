package slurm

import (
	"slices"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// UpdateState is a node state that can be asked for.
type UpdateState string

// States that the operator asks for.
const (
	StateDrain UpdateState = "DRAIN"
	// StateResume ends a drain or an outage. Slurm uses the node once it has answered a ping, which is sent
	// within a second.
	StateResume UpdateState = "RESUME"
	// StateIdle ends the drain of a node that does nothing, without a ping.
	StateIdle UpdateState = "IDLE"
	StateDown UpdateState = "DOWN"
	// StatePowerUp and StatePowerDown switch a cloud node on and off; the latter waits until it runs nothing.
	StatePowerUp   UpdateState = "POWER_UP"
	StatePowerDown UpdateState = "POWER_DOWN"
)

// Node is a node as slurmctld tells it.
type Node struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// State is a base state (IDLE, ALLOCATED, MIXED, DOWN, UNKNOWN...) followed by flags (DRAIN, ...).
	State  []string `json:"state"`
	Reason string   `json:"reason"`
	CPUs   int32    `json:"cpus"`
	// RealMemory is in MiB.
	RealMemory int64    `json:"real_memory"`
	Version    string   `json:"version"`
	Features   []string `json:"features"`
	// Gres is as in slurm.conf.
	Gres string `json:"gres"`
	// Extra is a line of text that the node's own pod may write.
	Extra string `json:"extra"`
	// ReasonChangedAt is when the node was drained or set down.
	ReasonChangedAt Time `json:"reason_changed_at"`
	// BootTime is when its machine started, as it said when it registered.
	BootTime Time `json:"boot_time"`
	// LastBusy is when a node that is not busy last was.
	LastBusy Time `json:"last_busy"`
}

// shareWords lets nodes in the same state share the words for it: of thousands, most are in one of few, and what they share
// is read faster.
func shareWords(nodes []Node) {
	known := map[string][]string{}
	for i := range nodes {
		key := strings.Join(nodes[i].State, "+")
		words, seen := known[key]
		if !seen {
			words = nodes[i].State
			known[key] = words
		}
		nodes[i].State = words
	}
}

// Time is a time as slurmrestd writes it, in seconds since 1970.
type Time struct {
	Set      bool  `json:"set"`
	Infinite bool  `json:"infinite"`
	Number   int64 `json:"number"`
}

// Time is zero where Slurm does not know it, or never.
func (t Time) Time() time.Time {
	if !t.Set || t.Infinite || t.Number <= 0 {
		return time.Time{}
	}
	return time.Unix(t.Number, 0)
}

// Is tells whether a node's state has the given word.
func (n *Node) Is(word string) bool { return slices.Contains(n.State, word) }

// Busy tells whether a node runs something, or ends it. An unknown state counts as busy.
func (n *Node) Busy() bool {
	return n.Is("ALLOCATED") || n.Is("MIXED") || n.Is("COMPLETING") || n.Is("UNKNOWN") || len(n.State) == 0
}

// Down tells whether Slurm cannot use a node, or does not hear of it. One that is switched on is not heard of yet.
func (n *Node) Down() bool {
	return n.Is("DOWN") || n.Is("NOT_RESPONDING") && !n.Starting() && !n.Off() && !n.asked() || n.Is("INVALID_REG") || n.Is("INVALID") || n.Is("FAIL")
}

// asked tells whether a busy node was just asked to register, which slurmctld's agent does after each of its starts: until it
// has, slurmctld takes it not to respond, and forgets when it booted.
func (n *Node) asked() bool {
	return (n.Is("ALLOCATED") || n.Is("MIXED")) && n.BootTime.Time().IsZero()
}

// Cloud tells whether Slurm switches a node on and off.
func (n *Node) Cloud() bool { return n.Is("CLOUD") }

// Starting tells whether Slurm has switched a cloud node on, or is about to, and waits for it.
func (n *Node) Starting() bool {
	return n.Cloud() && (n.Booting() || n.Is("POWERED_DOWN") && (n.Is("POWER_UP") || n.Is("ALLOCATED") || n.Is("MIXED")))
}

// Booting tells whether Slurm takes a slurmd that starts now as a node that it has switched on. One that starts before
// that is taken for one from before.
func (n *Node) Booting() bool { return n.Is("POWERING_UP") }

// Off tells whether a cloud node is switched off, or is being.
func (n *Node) Off() bool {
	return n.Cloud() && !n.Starting() && (n.Is("POWERED_DOWN") || n.Is("POWERING_DOWN"))
}

// On tells whether a cloud node is there.
func (n *Node) On() bool { return n.Cloud() && !n.Starting() && !n.Off() }

// Draining tells whether a node takes no new jobs.
func (n *Node) Draining() bool { return n.Is("DRAIN") }

// Usable tells whether Slurm starts jobs on a node, or has filled it.
func (n *Node) Usable() bool {
	return !n.Draining() && !n.Down() && !n.Starting() && !n.Off() && (n.Is("IDLE") || n.Is("ALLOCATED") || n.Is("MIXED"))
}

// Grows tells whether a node could have more than Slurm knows and lose nothing.
func (n *Node) Grows() bool { return strings.HasPrefix(n.Extra, contract.ExtraGrow) }

// Shrinks tells whether a node has less than Slurm believes.
func (n *Node) Shrinks() bool { return strings.HasPrefix(n.Extra, contract.ExtraShrink) }

// Unusable tells whether no node can be made any more of what its container is granted.
func (n *Node) Unusable() bool { return strings.HasPrefix(n.Extra, contract.ExtraUnusable) }

// Wish is what a node says of its size, without the prefix; empty if it is content.
func (n *Node) Wish() string {
	if n.Grows() || n.Shrinks() || n.Unusable() {
		return strings.TrimPrefix(n.Extra, contract.ReasonPrefix)
	}
	return ""
}

// Moving tells whether a node is on its way in or out because of us.
func (n *Node) Moving() bool {
	return n.Ours() && (n.Draining() || n.Down()) || n.Starting() || n.Wish() != ""
}

// Ours tells whether it was the operator who drained a node or set it down.
func (n *Node) Ours() bool {
	return strings.HasPrefix(n.Reason, contract.ReasonPrefix) || n.FirstReason() == reasonDuplicate
}

// Registering tells whether a node has registered and was not let in yet.
func (n *Node) Registering() bool { return n.Draining() && n.Reason == contract.ReasonRegistering }

// FirstReason is a node's reason without what slurmctld adds to it when it sets the node down because it does not answer.
func (n *Node) FirstReason() string { return strings.TrimSuffix(n.Reason, " : "+reasonSilent) }

// Silent tells whether it was slurmctld who set a node down, because it did not answer. See set_node_down_ptr of its node_mgr.c.
func (n *Node) Silent() bool { return n.Reason == reasonSilent }

const reasonSilent = "Not responding"

// reasonDuplicate is slurmctld's own: after a sudden end, it launched a job on a node on which it ran already. Nothing is wrong
// with the node. See agent.c of slurmctld.
const reasonDuplicate = "Duplicate jobid"

// Job is the state of a job.
type Job struct {
	// ID is as Slurm writes it: 7, 7_3 for a task of an array, 7_[4-9] for tasks that wait.
	ID string `json:"job_id"`
	// State is a base state (PENDING, RUNNING, ...) followed by flags.
	State []string `json:"state"`
}

// JobInfo is what slurmctld tells of a job.
type JobInfo struct {
	ID int64 `json:"job_id"`
	// JobState is as Job's State.
	JobState []string `json:"job_state"`
	Name     string   `json:"name"`
	User     string   `json:"user_name"`
	// Restarts is how often it was requeued.
	Restarts int `json:"restart_cnt"`
	// StateReason is why it waits.
	StateReason string `json:"state_reason"`
	// SubmitTime is when it was submitted, or last requeued, and EligibleTime when it may start.
	SubmitTime   Time `json:"submit_time"`
	EligibleTime Time `json:"eligible_time"`
	// StartTime is when it began, EndTime when its time limit ends it.
	StartTime Time `json:"start_time"`
	EndTime   Time `json:"end_time"`
	Resources struct {
		Nodes struct {
			Allocation []struct {
				Name string `json:"name"`
			} `json:"allocation"`
		} `json:"nodes"`
	} `json:"job_resources"`
}

func (j JobInfo) state() Job { return Job{State: j.JobState} }

// Running tells whether the job holds nodes.
func (j JobInfo) Running() bool { return j.state().Running() }

// Completing tells whether the job has ended, but not yet on all its nodes.
func (j JobInfo) Completing() bool { return slices.Contains(j.JobState, "COMPLETING") }

// On tells whether a node is among the job's.
func (j JobInfo) On(node string) bool { return slices.Contains(j.Nodes(), node) }

// Nodes are the names of its nodes.
func (j JobInfo) Nodes() []string {
	names := make([]string, 0, len(j.Resources.Nodes.Allocation))
	for _, n := range j.Resources.Nodes.Allocation {
		names = append(names, n.Name)
	}
	return names
}

// Delayed tells whether a job was requeued and waits only because its old credential is still valid: by default
// for longer than anything else takes. wait is how long that is (AuthInfo=cred_expire).
func (j JobInfo) Delayed(wait time.Duration) bool {
	return j.Restarts > 0 && j.StateReason == "BeginTime" && j.state().Pending() &&
		j.EligibleTime.Time().Sub(j.SubmitTime.Time()) <= wait
}

// Running tells whether a job holds nodes.
func (j Job) Running() bool {
	return slices.Contains(j.State, "RUNNING") || slices.Contains(j.State, "SUSPENDED") ||
		slices.Contains(j.State, "COMPLETING") || slices.Contains(j.State, "CONFIGURING")
}

// Pending tells whether a job waits.
func (j Job) Pending() bool { return slices.Contains(j.State, "PENDING") && !j.Running() }

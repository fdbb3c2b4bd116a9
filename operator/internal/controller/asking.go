package controller

import (
	"context"
	"errors"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

// answers are what slurmctld has told of its cluster.
type answers struct {
	slurmNodes   []slurm.Node
	slurmJobs    []slurm.Job
	slurmVersion string
	agent        contract.AgentConfig
	// slurmAt is where each node is among slurmNodes.
	slurmAt map[string]int
	// asked is when slurmctld was last asked for all nodes and jobs.
	asked time.Time
}

// Large clusters. Reading all nodes of one with 5,000 costs 100 ms of CPU, so while only a few of them do something, it
// is asked for those alone. Of the others, what is known may be as old as the poll interval.
const (
	// manyNodes is from how many nodes on a cluster is large.
	manyNodes = 100
	// fewNodes is how many nodes of a large cluster are asked for one by one.
	fewNodes = 16
)

// askSlurm asks slurmctld how it is. No answer is not an error: it is what the status says.
func (s *scope) askSlurm(ctx context.Context) error {
	pod := s.controllerPod
	if pod == nil || pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
		s.memory.knownSince, s.memory.answers = time.Time{}, answers{}
		return nil
	}
	s.slurm = s.slurmctld(s.keys[contract.KeyJWT])
	moving, few := s.moving()
	if s.memory.answers.asked.IsZero() || !few || s.controllerOutdated() || s.Clock.Since(s.memory.answers.asked) >= s.PollInterval {
		s.learn(ctx, s.askAll)
	} else {
		s.asked = moving
		s.learn(ctx, s.askFor)
	}
	if !s.known {
		return nil
	}
	s.rememberStarting()
	if s.memory.knownSince.IsZero() {
		s.memory.knownSince = s.Clock.Now()
	}
	return nil
}

// slurmctld is the client to the cluster's slurmctld, the same one as long as its address and its key are.
func (s *scope) slurmctld(key []byte) Slurm {
	c := &s.memory.client
	if address := s.controllerPod.Status.PodIP; c.Slurm == nil || c.address != address || c.key != string(key) {
		*c = slurmClient{s.NewSlurm(address, key), address, string(key)}
	}
	return c.Slurm
}

// slurmClient is a client with what it was made of.
type slurmClient struct {
	Slurm
	address, key string
}

// learn asks slurmctld and remembers what it says.
func (s *scope) learn(ctx context.Context, ask func(context.Context) (answers, error)) {
	now, err := ask(ctx)
	if err == nil {
		now.agent, err = s.slurm.Config(ctx)
	}
	if s.known = err == nil; !s.known {
		now = answers{}
		s.memory.knownSince = time.Time{}
		s.log(ctx).V(1).Info("slurmctld does not answer", "error", err.Error())
	}
	s.answers, s.memory.answers = now, now
	s.meet()
}

// askAll asks for all nodes and jobs.
func (s *scope) askAll(ctx context.Context) (a answers, err error) {
	s.asked = nil
	if a.slurmNodes, a.slurmVersion, err = s.slurm.Nodes(ctx); err != nil {
		return a, err
	}
	a.asked = s.Clock.Now()
	a.index()
	a.slurmJobs, err = s.slurm.Jobs(ctx)
	return a, err
}

// askFor asks for the nodes in which something happens, and takes all else to be as it was.
func (s *scope) askFor(ctx context.Context) (answers, error) {
	a := s.memory.answers
	for name := range s.asked {
		node, err := s.slurm.Node(ctx, name)
		switch {
		case errors.Is(err, slurm.ErrNoNode):
			if at, listed := a.slurmAt[name]; listed && !a.slurmNodes[at].Moving() {
				return s.askAll(ctx) // that it has gone is not our doing, so it is asked twice
			}
			a.remove(name)
		case err != nil:
			return a, err
		default:
			a.put(node)
		}
	}
	return a, nil
}

// index makes nodes easy to find.
func (a *answers) index() {
	a.slurmAt = make(map[string]int, len(a.slurmNodes))
	for i := range a.slurmNodes {
		a.slurmAt[a.slurmNodes[i].Name] = i
	}
}

func (a *answers) put(node slurm.Node) {
	if at, listed := a.slurmAt[node.Name]; listed {
		a.slurmNodes[at] = node
		return
	}
	a.slurmAt[node.Name] = len(a.slurmNodes)
	a.slurmNodes = append(a.slurmNodes, node)
}

func (a *answers) remove(name string) {
	at, listed := a.slurmAt[name]
	if !listed {
		return
	}
	last := len(a.slurmNodes) - 1
	a.slurmNodes[at] = a.slurmNodes[last]
	a.slurmAt[a.slurmNodes[at].Name] = at
	a.slurmNodes = a.slurmNodes[:last]
	delete(a.slurmAt, name)
}

// fresh tells whether slurmctld was asked for a node in this look.
func (s *scope) fresh(node string) bool { return s.asked == nil || s.asked[node] }

// moving are the nodes of a large cluster in which something happens: those whose pods have changed since the last look,
// and those that are on their way in or out. few tells that it is enough to ask for them.
func (s *scope) moving() (names map[string]bool, few bool) {
	known := &s.memory.answers
	if len(known.slurmNodes) < manyNodes {
		return nil, false
	}
	names = map[string]bool{}
	met := 0
	for _, pod := range s.slurmdPods {
		node := known.nodeOf(pod)
		if !pod.asked || node == nil || pod.DeletionTimestamp != nil || node.Moving() {
			names[pod.name()] = true
		}
		if node != nil {
			met++
		}
		pod.asked = true
	}
	if met == len(known.slurmNodes) {
		return names, len(names) <= fewNodes
	}
	for i := range known.slurmNodes {
		if node := &known.slurmNodes[i]; s.podOf(node.Name) == nil && !node.Off() {
			names[node.Name] = true
		}
	}
	return names, len(names) <= fewNodes
}

// slurmNode is the index of a node among those that slurmctld knows, or -1.
func (s *scope) slurmNode(name string) int {
	if at, known := s.slurmAt[name]; known {
		return at
	}
	return -1
}

package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

func setConditions(o Observation, s *v1alpha1.SlurmClusterStatus) {
	ready := readiness(o, s)
	set(s, v1alpha1.ConditionReady, ready.Reason == v1alpha1.ReasonReady, ready)
	set(s, v1alpha1.ConditionProgressing, progressing(o, ready) != nil, orAsExpected(progressing(o, ready), "nothing to do"))
	degraded := degradation(o, ready)
	set(s, v1alpha1.ConditionDegraded, degraded != nil, orAsExpected(degraded, "nothing is wrong"))
}

// readiness is ReasonReady, or the reason that says most about why the cluster is not ready.
func readiness(o Observation, s *v1alpha1.SlurmClusterStatus) Problem {
	missing := *s.Nodes - *s.ReadyNodes
	switch {
	case o.Cluster.Spec.Suspend:
		return suspended(o)
	case len(o.Problems) > 0 && (!o.Known || missing > 0):
		return o.Problems[0]
	case !o.Known && !o.ControllerRan:
		return Problem{v1alpha1.ReasonStarting, "waiting for slurmctld to answer"}
	case !o.Known:
		return Problem{v1alpha1.ReasonControllerUnavailable, "slurmctld does not answer; jobs go on, new ones have to wait"}
	case missing > 0:
		return Problem{v1alpha1.ReasonNodesNotReady, fmt.Sprintf("Slurm can use %d of %s", *s.ReadyNodes, plural(*s.Nodes, "node"))}
	case o.RunningConfig != o.WantedConfig:
		return applyingConfig(o)
	}
	return Problem{v1alpha1.ReasonReady, fmt.Sprintf("slurmctld answers; %s with %s", plural(*s.ReadyNodes, "node"), plural(*s.CPUs, "CPU"))}
}

// suspended says what a suspended cluster still has. Its problems are told elsewhere: it is not ready anyway.
func suspended(o Observation) Problem {
	message := "no nodes; the queue is on its volume"
	switch {
	case len(o.Pods) > 0:
		message = fmt.Sprintf("%s left, which go when their jobs have ended", plural(int32(len(o.Pods)), "node"))
	case o.Cluster.Spec.Controller.Storage == nil:
		message = "no nodes; slurmctld runs on, because the queue would be lost with it: the cluster has no controller.storage"
	case !o.Off:
		message = "no nodes; slurmctld is going"
	}
	return Problem{v1alpha1.ReasonSuspended, message}
}

// atRest tells whether a suspended cluster has nothing left to give up.
func atRest(o Observation) bool {
	return o.Cluster.Spec.Suspend && len(o.Pods) == 0 && (o.Off || o.Cluster.Spec.Controller.Storage == nil && o.RunningConfig == o.WantedConfig)
}

func applyingConfig(o Observation) Problem {
	if len(o.Problems) > 0 {
		return o.Problems[0]
	}
	return Problem{v1alpha1.ReasonApplyingConfig, "slurmctld is being given a new configuration"}
}

// progressing says what the operator works on, or nil.
func progressing(o Observation, ready Problem) *Problem {
	switch {
	case o.Waiting != nil:
		return o.Waiting
	case atRest(o):
		return nil
	case ready.Reason != v1alpha1.ReasonReady:
		return &ready
	}
	return o.Working
}

// degradation says what is wrong, or nil: a problem, or a slurmctld that has gone.
func degradation(o Observation, ready Problem) *Problem {
	switch {
	case len(o.Problems) > 0:
		return &o.Problems[0]
	case ready.Reason == v1alpha1.ReasonControllerUnavailable:
		return &ready
	}
	return nil
}

func orAsExpected(p *Problem, message string) Problem {
	if p == nil {
		return Problem{v1alpha1.ReasonAsExpected, message}
	}
	return *p
}

// messageLimit is the API's limit on a condition's message, in bytes.
const messageLimit = 32768

func set(s *v1alpha1.SlurmClusterStatus, kind string, value bool, p Problem) {
	state := metav1.ConditionFalse
	if value {
		state = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: state, Reason: p.Reason,
		Message:            p.Message[:min(len(p.Message), messageLimit)],
		ObservedGeneration: s.ObservedGeneration,
	})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

const (
	// ranks is how many the parallel programs have, each with a CPU of its own.
	ranks = 2
	// visitLimit bounds a visit, so that one that never ends says so.
	visitLimit = 15 * time.Minute
	// gvisor is the RuntimeClass by which a Kubernetes has gVisor.
	gvisor = "gvisor"
	// epilog of the host's slurmd is the one that slurmd-shim gives to nodes.
	epilog = "/usr/bin/true"
)

// The places, as the tables name them.
const (
	onHost       = "host"
	onHalves     = "halved host"
	inPod        = "pod"
	inPods       = "pods"
	inTuned      = "tuned pod"
	inGvisor     = "gvisor"
	inGvisorPods = "gvisor pods"
	ofSlurm      = "Slurm's image"
	ofUser       = "own image"
)

// profile is the one of docs/how-to/throughput.md.
var profile = []string{
	"MaxArraySize=10001", "MaxJobCount=100000", "MinJobAge=300", "SlurmctldDebug=error", "SlurmdDebug=error",
	"SchedulerParameters=sched_interval=5,bf_interval=30,batch_sched_delay=0,nohold_on_prolog_fail",
}

// place is somewhere a Slurm with two CPUs runs.
type place interface {
	// start makes the Slurm; it can run jobs then.
	start(context.Context) error
	// nodes is how many nodes it has.
	nodes() int
	// run runs a command where users of the Slurm have their shell and returns its output.
	run(ctx context.Context, command ...string) (string, error)
	stop(context.Context) error
}

// all are the visits there are on the Kubernetes in use.
func all(ctx context.Context, o options, undo *program.Undo) ([]visit, error) {
	k, err := kube.Connect()
	if err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "bench-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := k.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("making a namespace: %w", err)
	}
	undo.Later(func(ctx context.Context) error { return k.Delete(ctx, namespace) })

	in := func(pods int, runtimeClass string) *cluster {
		return &cluster{
			Kube: k, namespace: namespace.Name, image: o.image, count: pods, cpus: ranks / pods, cpuRequest: o.cpuRequest, runtimeClass: runtimeClass,
		}
	}
	first := func(image string) func(context.Context) (figures, error) {
		return firstJob(&cluster{Kube: k, namespace: namespace.Name, image: o.slurmImage, nodeImage: image, count: 1, cpus: 1, cpuRequest: o.cpuRequest})
	}
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	tuned := in(1, "")
	tuned.config = profile
	var visits []visit
	add := func(name string, p place, names ...string) {
		if parts := chosen.named(names); len(parts) > 0 {
			visits = append(visits, visit{name, at(p, parts...)})
		}
	}
	add(onHost, &host{image: o.image, slurmds: 1}, partPrograms, partLaunches, partArray)
	add(onHalves, &host{image: o.image, slurmds: 2}, partLaunches)
	add(inPod, in(1, ""), partPrograms, partLaunches, partArray)
	add(inPods, in(2, ""), partPrograms, partLaunches)
	add(inTuned, tuned, partArray)
	switch err := k.Get(ctx, client.ObjectKey{Name: gvisor}, &nodev1.RuntimeClass{}); {
	case apierrors.IsNotFound(err):
		program.Progress("this Kubernetes has no RuntimeClass %s: nothing is measured in it", gvisor)
	case err != nil:
		return nil, fmt.Errorf("looking for the RuntimeClass %s: %w", gvisor, err)
	default:
		add(inGvisor, in(1, gvisor), partPrograms, partLaunches)
		// No programs: ranks that wait for each other take all CPUs, which leaves gVisor none for its network.
		add(inGvisorPods, in(2, gvisor), partLaunches)
	}
	visits = append(visits, visit{ofSlurm, first("")}, visit{ofUser, first(o.userImage)})
	if o.only != "" {
		only := strings.Split(o.only, ",")
		visits = slices.DeleteFunc(visits, func(v visit) bool { return !slices.Contains(only, v.name) })
	}
	return visits, nil
}

// part measures something in a place.
type part func(context.Context, place) (figures, error)

// The parts, as --parts names them.
const (
	partPrograms = "programs"
	partLaunches = "launches"
	partArray    = "array"
)

// parts are what is to be measured, by name.
type parts map[string]part

func (o options) chosen() (parts, error) {
	all := parts{partPrograms: programs(o.size), partLaunches: launches, partArray: array(o.jobs)}
	chosen := parts{}
	for name := range strings.SplitSeq(o.parts, ",") {
		part, known := all[name]
		if !known {
			return nil, fmt.Errorf("--parts has %q, which is none of %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		chosen[name] = part
	}
	return chosen, nil
}

// named are those of the parts that are to be measured.
func (p parts) named(names []string) (list []part) {
	for _, name := range names {
		if part, found := p[name]; found {
			list = append(list, part)
		}
	}
	return list
}

// at visits a place: it is made, what is there to measure is measured, and it is removed.
func at(p place, parts ...part) func(context.Context) (figures, error) {
	return func(ctx context.Context) (f figures, err error) {
		defer func() { err = errors.Join(err, p.stop(context.WithoutCancel(ctx))) }()
		ctx, cancel := context.WithTimeout(ctx, visitLimit)
		defer cancel()
		if err := p.start(ctx); err != nil {
			return nil, fmt.Errorf("starting Slurm: %w", err)
		}
		f = figures{}
		for _, part := range parts {
			more, err := part(ctx, p)
			if err != nil {
				return nil, err
			}
			maps.Copy(f, more)
		}
		return f, nil
	}
}

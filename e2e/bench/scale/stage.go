package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// Names of what the measurement makes, and the addresses of the pods: those of no machine, which this one takes to be
// its own for as long as it measures.
const (
	namespaceMany  = "scale-many"
	namespaceLarge = "scale-large"
	podRange       = "10.64.0.0/14"
	machine        = "scale-machine"
	kwokAnnotation = "kwok.x-k8s.io/node"
)

// ours is where the operator in use is.
var ours = client.ObjectKey{Namespace: "slurmcluster-system", Name: "slurmcluster-operator"}

// stage is the Kubernetes that is measured on.
type stage struct {
	options
	*kube.Kube
	slurm *slurms
	kwok  *child
	// rows are what was measured: what, how much, and how much is allowed.
	rows [][3]string
	undo program.Undo
}

func newStage(ctx context.Context, o options) (*stage, error) {
	s := &stage{options: o}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"connecting to Kubernetes", s.connect},
		{"taking the pods' addresses", s.takeAddresses},
		{"stopping the operator in use", s.pauseOperator},
		{"keeping pods off the machines", s.cordon},
		{"making a machine that is none", s.makeMachine},
		{"starting kwok", s.startKwok},
		{"making namespaces", s.makeNamespaces},
		{"answering as Slurm", s.startSlurm},
	} {
		if err := step.do(ctx); err != nil {
			return s, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return s, nil
}

func (s *stage) connect(context.Context) (err error) {
	s.Kube, err = kube.Connect()
	return err
}

func (s *stage) takeAddresses(ctx context.Context) error {
	route := func(verb string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := kube.Local(ctx, nil, "ip", "route", verb, "local", podRange, "dev", "lo")
			return err
		}
	}
	if err := route("replace")(ctx); err != nil {
		return err
	}
	s.undo.Later(route("delete"))
	return nil
}

func (s *stage) pauseOperator(ctx context.Context) error {
	deployment := &appsv1.Deployment{}
	if err := s.Get(ctx, ours, deployment); err != nil {
		return fmt.Errorf("%w; install the operator first (make install)", err)
	}
	scale := func(n *int32) func(context.Context) error {
		return func(ctx context.Context) error {
			return s.Patch(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ours.Namespace, Name: ours.Name}},
				client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *n)))
		}
	}
	if err := scale(ptr.To[int32](0))(ctx); err != nil {
		return err
	}
	s.undo.Later(scale(ptr.To(max(1, ptr.Deref(deployment.Spec.Replicas, 1)))))
	return await(ctx, "the operator in use to end", time.Minute, func(ctx context.Context) (string, bool, error) {
		pods := &corev1.PodList{}
		err := s.List(ctx, pods, client.InNamespace(ours.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))
		return fmt.Sprintf("%d pods", len(pods.Items)), len(pods.Items) == 0, err
	})
}

func (s *stage) cordon(ctx context.Context) error {
	machines := &corev1.NodeList{}
	if err := s.List(ctx, machines); err != nil {
		return err
	}
	set := func(o *corev1.Node, cordoned bool) error {
		return s.Patch(ctx, o, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned)))
	}
	for i := range machines.Items {
		o := &machines.Items[i]
		if o.Spec.Unschedulable || o.Annotations[kwokAnnotation] != "" {
			continue
		}
		if err := set(o, true); err != nil {
			return err
		}
		s.undo.Later(func(context.Context) error { return set(o, false) })
	}
	return nil
}

func (s *stage) makeMachine(ctx context.Context) error {
	resources := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]string{corev1.ResourceCPU: "100k", corev1.ResourceMemory: "100Ti", corev1.ResourcePods: "100k"} {
		resources[name] = quantityOf(quantity)
	}
	o := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: machine, Annotations: map[string]string{kwokAnnotation: "fake"}},
		Spec:       corev1.NodeSpec{PodCIDR: podRange, PodCIDRs: []string{podRange}},
		Status:     corev1.NodeStatus{Allocatable: resources, Capacity: resources},
	}
	s.undo.Later(func(ctx context.Context) error { return client.IgnoreNotFound(s.Delete(ctx, o)) })
	if err := s.Create(ctx, o); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// stages are the files of kwok's own that say what becomes of nodes and pods.
var stages = []string{
	"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml",
}

func (s *stage) startKwok(ctx context.Context) (err error) {
	const address = "127.0.0.1:18091"
	args := []string{"--manage-nodes-with-annotation-selector=" + kwokAnnotation + "=fake", "--cidr=" + podRange,
		"--node-ip=127.0.0.1", "--server-address=" + address, "--node-lease-duration-seconds=40"}
	for _, file := range stages {
		args = append(args, "--config="+filepath.Join(s.stages, file))
	}
	if s.kwok, err = start(ctx, "kwok", "http://"+address+"/healthz", s.options.kwok, args...); err == nil {
		s.undo.Later(func(context.Context) error { return s.kwok.stop() })
	}
	return err
}

// deletionLimit is how long the deletion of all that was made may take.
const deletionLimit = 15 * time.Minute

func (s *stage) makeNamespaces(ctx context.Context) error {
	for _, name := range []string{namespaceMany, namespaceLarge} {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.Create(ctx, o); err != nil {
			return fmt.Errorf("%w; a measurement that was broken off leaves it, delete it", err)
		}
		s.undo.Later(func(ctx context.Context) error { return s.empty(ctx, name) })
	}
	return nil
}

// empty deletes a namespace with all that is in it.
func (s *stage) empty(ctx context.Context, name string) error {
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
		return err
	}
	return await(ctx, "namespace "+name+" to be empty", deletionLimit, func(ctx context.Context) (string, bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(o), o)
		var left []string
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.NamespaceContentRemaining {
				left = append(left, c.Message)
			}
		}
		return strings.Join(left, "; "), apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func (s *stage) startSlurm(ctx context.Context) (err error) {
	s.slurm, err = startSlurms(ctx, s.Kube, namespaceMany, namespaceLarge)
	if err == nil {
		s.undo.Later(s.slurm.stop)
	}
	return err
}

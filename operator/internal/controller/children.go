package controller

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// ensureKeysAndServices makes what everything else needs, all at once: a user waits for it.
func (s *scope) ensureKeysAndServices(ctx context.Context) error {
	var all errgroup.Group
	all.Go(func() error { return s.ensureKeys(ctx) })
	all.Go(func() error { return s.writer.Apply(ctx, s.cluster, desired.ControllerService(s.want), s.service) })
	all.Go(func() error { return s.isolate(ctx) })
	if err := all.Wait(); err != nil {
		return err
	}
	s.want.ControllerIP = s.service.Spec.ClusterIP // for the configuration and slurmds
	return nil
}

// nameNodes gives the nodes DNS names once there is a node with an address: for a Service that was there before, Kubernetes would
// write down anew each step of each pod's start. It comes before a node is let in, and so before a job that may ask for names; Slurm
// may know of a node before the kubelet has told its address.
func (s *scope) nameNodes(ctx context.Context) error {
	there := func(pod *slurmdPod) bool { return pod.node != nil || pod.Status.PodIP != "" }
	if s.nodes.UID == "" && !slices.ContainsFunc(s.slurmdPods, there) {
		return nil
	}
	return s.writer.Apply(ctx, s.cluster, desired.NodesService(s.want), s.nodes)
}

// isolate makes the NetworkPolicy, or removes ours where none is wanted.
func (s *scope) isolate(ctx context.Context) error {
	if s.want.Isolated() {
		return s.writer.Apply(ctx, s.cluster, desired.NetworkPolicy(s.want), s.policy)
	}
	if s.policy.UID == "" || !s.want.OwnedBy(s.policy) {
		return nil
	}
	if err := s.Client.Delete(ctx, s.policy, client.Preconditions{UID: &s.policy.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the NetworkPolicy: %w", err)
	}
	return nil
}

// ensureConfig renders Slurm's configuration. One that cannot be used leaves the one before in place.
func (s *scope) ensureConfig(ctx context.Context) error {
	files, err := desired.ConfigFiles(s.want)
	if err != nil {
		s.problem(v1alpha1.ReasonInvalidConfig, err.Error())
		s.configHash = configHash(s.configMap.Data)
		return nil
	}
	s.configHash = configHash(files)
	return s.writer.Apply(ctx, s.cluster, desired.ConfigMap(s.want, files), s.configMap)
}

// configHash is the hash of a configuration, empty if there is none.
func configHash(files map[string]string) string {
	if len(files) == 0 {
		return ""
	}
	return contract.ConfigHash(files)
}

// ensureController makes the StatefulSet of the controller pod, once there is a configuration to start with.
func (s *scope) ensureController(ctx context.Context) error {
	if s.configHash == "" {
		return nil
	}
	return s.writer.Apply(ctx, s.cluster, desired.Controller(s.want), s.controller)
}

package controller

import (
	"context"
	"fmt"
	"time"

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

// nameAfter is how long the only node of a cluster has to have been let in before it gets a name, at the next look. By then most of
// those who asked for clusters at the same time have theirs.
const nameAfter = 10 * time.Second

// nameNodes gives the nodes DNS names: for a Service that was there before the pods, Kubernetes would write down anew each step of
// each pod's start.
func (s *scope) nameNodes(ctx context.Context) error {
	if s.nodes.UID == "" && !s.toBeNamed() {
		return nil
	}
	return s.writer.Apply(ctx, s.cluster, desired.NodesService(s.want), s.nodes)
}

// toBeNamed tells whether it is time for names. Several nodes have them before they are let in, since their jobs may ask for them;
// Slurm may know of a node before the kubelet has told its address. One alone, which knows its own, gets it when its user waits
// for nothing more urgent.
func (s *scope) toBeNamed() bool {
	there, one := 0, (*slurmdPod)(nil)
	for _, pod := range s.slurmdPods {
		if pod.node != nil || pod.Status.PodIP != "" {
			there, one = there+1, pod
		}
	}
	switch {
	case there > 1:
		return true
	case there == 0 || one.node == nil || one.node.Registering():
		return false
	}
	now := s.Clock.Now()
	if one.inSince.IsZero() {
		one.inSince = now
	}
	return now.Sub(one.inSince) >= nameAfter
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

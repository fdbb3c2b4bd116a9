package controller

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// keysTrust is how long a Secret is taken to be there still without looking. Secrets are not watched: the
// right to watch them is the right to read all of them.
const keysTrust = 15 * time.Second

// ensureKeysAndServices makes what everything else needs, all at once: a user waits for it.
func (s *scope) ensureKeysAndServices(ctx context.Context) error {
	var all errgroup.Group
	all.Go(func() error { return s.ensureKeys(ctx) })
	all.Go(func() error { return s.writer.Apply(ctx, s.cluster, desired.ControllerService(s.want), s.service) })
	all.Go(func() error { return s.writer.Apply(ctx, s.cluster, desired.NodesService(s.want), s.nodes) })
	if err := all.Wait(); err != nil {
		return err
	}
	s.want.ControllerIP = s.service.Spec.ClusterIP // for the configuration and slurmds
	return nil
}

// ensureKeys reads the cluster's keys, or makes them. A Secret that has gone is made again with the keys
// that running daemons use.
func (s *scope) ensureKeys(ctx context.Context) error {
	now := s.Clock.Now()
	if s.memory.keys != nil && now.Sub(s.memory.keysSeen) < keysTrust {
		s.keys = s.memory.keys
		return nil
	}
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.want.SecretName()}
	err := s.Reader.Get(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err):
		keys := s.memory.keys
		if keys == nil {
			keys = desired.NewKeys()
		}
		if err := s.writer.Apply(ctx, s.cluster, desired.Secret(s.want, keys), secret); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("reading Secret %s: %w", name, err)
	case !s.want.OwnedBy(secret):
		// Apply finds the conflict and says it.
		return s.writer.Apply(ctx, s.cluster, desired.Secret(s.want, nil), secret)
	}
	s.keys = secret.Data
	s.memory.keys, s.memory.keysSeen = secret.Data, now
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

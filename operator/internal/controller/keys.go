package controller

import (
	"context"
	"fmt"
	"time"

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

// ensureKeys reads the cluster's keys, or makes them. A Secret that has gone is made again with the keys that running
// daemons use.
func (s *scope) ensureKeys(ctx context.Context) error {
	now, rotation := s.Clock.Now(), s.cluster.Annotations[contract.AnnotationRotateKeys]
	if s.memory.keys != nil && now.Sub(s.memory.keysSeen) < keysTrust && (rotation == "" || rotation == s.memory.keyRotation) {
		s.keys, s.want.KeyRotation = s.memory.keys, s.memory.keyRotation
		return nil
	}
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.want.SecretName()}
	err := s.readOrMakeKeys(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err):
		keys := s.memory.keys
		if keys == nil || rotation != "" && rotation != s.memory.keyRotation {
			keys = desired.NewKeys(s.cluster.Spec.Auth.Type)
		}
		if err := s.writer.Apply(ctx, s.cluster, desired.Secret(s.want, keys), secret); err != nil {
			return err
		}
	case err != nil:
		return err
	case !s.want.OwnedBy(secret):
		// Apply finds the conflict and says it.
		return s.writer.Apply(ctx, s.cluster, desired.Secret(s.want, nil), secret)
	case rotation != "" && rotation != secret.Annotations[contract.AnnotationRotateKeys]:
		if err := s.writer.Apply(ctx, s.cluster, desired.Secret(s.want, desired.NewKeys(s.cluster.Spec.Auth.Type)), secret); err != nil {
			return err
		}
		s.log(ctx).Info("The cluster gets new keys", "rotation", rotation)
		s.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, v1alpha1.ReasonKeysRotated, "Reconcile",
			"the cluster gets new keys, as annotation %s asks; jobs go on", contract.AnnotationRotateKeys)
		s.acted = true
	}
	s.keys, s.want.KeyRotation = secret.Data, secret.Annotations[contract.AnnotationRotateKeys]
	s.memory.keys, s.memory.keyRotation, s.memory.keysSeen = s.keys, s.want.KeyRotation, now
	return nil
}

// readOrMakeKeys reads the Secret. Of a cluster that has nothing yet, it makes one first, so that its user waits for one request.
func (s *scope) readOrMakeKeys(ctx context.Context, name types.NamespacedName, secret *corev1.Secret) error {
	if s.memory.keys == nil && !s.exists() {
		return s.writer.Create(ctx, s.cluster, desired.Secret(s.want, desired.NewKeys(s.cluster.Spec.Auth.Type)), secret)
	}
	if err := s.Reader.Get(ctx, name, secret); err != nil {
		return fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return nil
}

// spreadKeys makes the kubelets give new keys to all pods at once: those with different keys do not understand each
// other.
func (s *scope) spreadKeys(ctx context.Context) error {
	if s.want.KeyRotation == "" {
		return nil
	}
	pods := make([]*corev1.Pod, 0, len(s.slurmdPods)+1)
	for _, pod := range s.slurmdPods {
		pods = append(pods, pod.Pod)
	}
	if s.controllerPod != nil {
		pods = append(pods, s.controllerPod)
	}
	for _, pod := range pods {
		if pod.Annotations[contract.AnnotationRotateKeys] == s.want.KeyRotation {
			continue
		}
		s.workOn("pod %s is being given new keys", pod.Name)
		if err := s.annotate(ctx, pod, contract.AnnotationRotateKeys, s.want.KeyRotation); err != nil {
			return err
		}
	}
	return nil
}

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// ensureHome makes the claim of a new home, and lets it grow.
func (s *scope) ensureHome(ctx context.Context) error {
	want := desired.HomeClaim(s.want)
	if want == nil || s.memory.homeFor == s.cluster.Generation {
		return nil
	}
	ok, err := s.ensureClaim(ctx, want, "name it in spec.home.claimName to use it, or delete it")
	if ok {
		s.memory.homeFor = s.cluster.Generation
	}
	return err
}

// ensureState makes the claim of slurmctld's state, and lets it grow. It tells whether there is what the cluster wants.
func (s *scope) ensureState(ctx context.Context) (bool, error) {
	want := desired.StateClaim(s.want)
	if want == nil || s.memory.stateFor == s.cluster.Generation && s.controllerPod != nil {
		return true, nil
	}
	ok, err := s.ensureClaim(ctx, want, "delete it, or give the cluster another name")
	if ok {
		s.memory.stateFor = s.cluster.Generation
	}
	return ok, err
}

// ensureClaim makes a claim, or makes it what is wanted now as far as a claim can change: larger, and with or without an end with
// its cluster. One that is not the cluster's is left alone; then there is a problem, and it is not ok.
func (s *scope) ensureClaim(ctx context.Context, want *corev1.PersistentVolumeClaim, instead string) (ok bool, err error) {
	have := &corev1.PersistentVolumeClaim{}
	err = s.Reader.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.Client.Create(ctx, want); err != nil {
			return false, fmt.Errorf("making claim %s: %w", want.Name, err)
		}
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading claim %s: %w", want.Name, err)
	case have.Labels[contract.LabelCluster] != s.cluster.Name || len(have.OwnerReferences) > 0 && !s.want.OwnedBy(have):
		s.problem(v1alpha1.ReasonNameConflict, fmt.Sprintf("claim %s exists and is not this cluster's: %s", have.Name, instead))
		return false, nil
	}
	changed := have.DeepCopy()
	changed.OwnerReferences = want.OwnerReferences
	size := want.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(have.Spec.Resources.Requests[corev1.ResourceStorage]) > 0 {
		changed.Spec.Resources.Requests[corev1.ResourceStorage] = size
	}
	if equality.Semantic.DeepEqual(have, changed) {
		return true, nil
	}
	if err := s.Client.Patch(ctx, changed, client.MergeFrom(have)); err != nil {
		return false, fmt.Errorf("changing claim %s: %w", have.Name, err)
	}
	return true, nil
}

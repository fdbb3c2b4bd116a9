package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// ensureHome makes the claim of a new home, and lets it grow.
func (s *scope) ensureHome(ctx context.Context) error {
	home := s.cluster.Spec.Home
	if home == nil || home.Size == nil || s.memory.homeFor == s.cluster.Generation {
		return nil
	}
	want, have := desired.HomeClaim(s.want), &corev1.PersistentVolumeClaim{}
	err := s.Reader.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.Client.Create(ctx, want); err != nil {
			return fmt.Errorf("making the claim of the home: %w", err)
		}
	case err != nil:
		return fmt.Errorf("reading the claim of the home: %w", err)
	case have.Labels[contract.LabelCluster] != s.cluster.Name || len(have.OwnerReferences) > 0 && !s.want.OwnedBy(have):
		s.problem(v1alpha1.ReasonNameConflict, fmt.Sprintf(
			"claim %s exists and is not this cluster's: name it in spec.home.claimName to use it, or delete it", have.Name))
		return nil
	case home.Size.Cmp(have.Spec.Resources.Requests[corev1.ResourceStorage]) > 0:
		larger := have.DeepCopy()
		larger.Spec.Resources.Requests[corev1.ResourceStorage] = *home.Size
		if err := s.Client.Patch(ctx, larger, client.MergeFrom(have)); err != nil {
			return fmt.Errorf("making the claim of the home larger: %w", err)
		}
	}
	s.memory.homeFor = s.cluster.Generation
	return nil
}

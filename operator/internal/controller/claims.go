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

// ensureState makes the claim of slurmctld's state. It tells whether there is what the cluster wants.
func (s *scope) ensureState(ctx context.Context) (bool, error) {
	want := desired.StateClaim(s.want)
	if want == nil {
		return true, nil
	}
	return s.ensureClaim(ctx, want, "delete it, or give the cluster another name")
}

// ensureClaim makes a claim, or lets it grow. One that is not the cluster's is left alone; then there is a problem, which says
// what to do instead, and it is not ok.
func (s *scope) ensureClaim(ctx context.Context, want *corev1.PersistentVolumeClaim, instead string) (ok bool, err error) {
	have, size := &corev1.PersistentVolumeClaim{}, want.Spec.Resources.Requests[corev1.ResourceStorage]
	err = s.Reader.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.Client.Create(ctx, want); err != nil {
			return false, fmt.Errorf("making claim %s: %w", want.Name, err)
		}
	case err != nil:
		return false, fmt.Errorf("reading claim %s: %w", want.Name, err)
	case have.Labels[contract.LabelCluster] != s.cluster.Name || len(have.OwnerReferences) > 0 && !s.want.OwnedBy(have):
		s.problem(v1alpha1.ReasonNameConflict, fmt.Sprintf("claim %s exists and is not this cluster's: %s", have.Name, instead))
		return false, nil
	case size.Cmp(have.Spec.Resources.Requests[corev1.ResourceStorage]) > 0:
		larger := have.DeepCopy()
		larger.Spec.Resources.Requests[corev1.ResourceStorage] = size
		if err := s.Client.Patch(ctx, larger, client.MergeFrom(have)); err != nil {
			return false, fmt.Errorf("making claim %s larger: %w", have.Name, err)
		}
	}
	return true, nil
}

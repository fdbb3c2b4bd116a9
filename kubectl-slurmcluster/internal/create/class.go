package create

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// consult asks the API server who makes the cluster, and whether its class has nodes for who says nothing of them. A dry run
// on the client asks nobody: then a class that is named is taken to have some.
func (o *Options) consult(ctx context.Context) error {
	if o.dryRun == cmdutil.DryRunClient {
		o.fromClass = o.Class != "" && !o.nodesGiven
		return nil
	}
	if err := o.findOwner(ctx); err != nil {
		return err
	}
	if o.Class == "" && o.nodesGiven {
		return nil
	}
	classes, err := o.Env.Classes(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil // an operator without classes; what is wrong is said of the cluster
	}
	if err != nil {
		return fmt.Errorf("listing SlurmClusterClasses: %w", err)
	}
	class, err := o.class(classes)
	o.fromClass = class != nil && !o.nodesGiven && len(class.Spec.Defaults.NodeSets) > 0
	return err
}

// class is the class of the cluster, nil if it has none.
func (o *Options) class(all []v1alpha1.SlurmClusterClass) (*v1alpha1.SlurmClusterClass, error) {
	if o.Class == "" {
		return v1alpha1.DefaultClass(all), nil
	}
	names := make([]string, 0, len(all))
	for i := range all {
		if all[i].Name == o.Class {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("--class %s: there are no SlurmClusterClasses; leave it out", o.Class)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("--class %s: there is no such SlurmClusterClass; choose one of %s", o.Class, strings.Join(names, ", "))
}

// findOwner asks who makes the cluster, for annotation slurmcluster.dev/owner.
func (o *Options) findOwner(ctx context.Context) error {
	kube, err := o.Env.Kube()
	if err != nil {
		return err
	}
	review, err := kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return nil // not every Kubernetes tells; classes that count by user say so
	case err != nil:
		return fmt.Errorf("asking who you are: %w", err)
	}
	o.owner = review.Status.UserInfo.Username
	return nil
}

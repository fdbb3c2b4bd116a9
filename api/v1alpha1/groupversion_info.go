// Package v1alpha1 holds the API types of group slurmcluster.dev. It imports Kubernetes' own API types and
// apimachinery, nothing else, so that any client can use it.
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +groupName=slurmcluster.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of these types.
var SchemeGroupVersion = schema.GroupVersion{Group: "slurmcluster.dev", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &SlurmCluster{}, &SlurmClusterList{}, &SlurmClusterClass{}, &SlurmClusterClassList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
})

// AddToScheme adds these types to a scheme.
var AddToScheme = schemeBuilder.AddToScheme

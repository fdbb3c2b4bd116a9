package enforcer

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

// objects is what the API server says, kept up to date.
type objects struct {
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	policies   networkinglisters.NetworkPolicyLister
}

// watchObjects returns when it knows them all. Of pods, it watches those of this node: on others, which benchmarks make
// up, nobody sends anything.
func watchObjects(ctx context.Context, client kubernetes.Interface, changed signal) (objects, error) {
	onNode := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", layout.NodeName).String()
	}
	ofNode := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(onNode))
	all := informers.NewSharedInformerFactory(client, 0)
	pods := ofNode.Core().V1().Pods()
	namespaces, policies := all.Core().V1().Namespaces(), all.Networking().V1().NetworkPolicies()
	for _, informer := range []cache.SharedIndexInformer{pods.Informer(), namespaces.Informer(), policies.Informer()} {
		if _, err := informer.AddEventHandler(changed.onEvents()); err != nil {
			return objects{}, fmt.Errorf("watching the API server: %w", err)
		}
	}
	for _, factory := range []informers.SharedInformerFactory{ofNode, all} {
		factory.Start(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced, namespaces.Informer().HasSynced, policies.Informer().HasSynced) {
		return objects{}, fmt.Errorf("watching the API server: %w", context.Cause(ctx))
	}
	return objects{pods.Lister(), namespaces.Lister(), policies.Lister()}, nil
}

// read collects what policies are about. Without one, there is nothing to know.
func (o objects) read(sandboxes string) (policy.Cluster, error) {
	var c policy.Cluster
	policies, err := o.policies.List(labels.Everything())
	if err != nil || len(policies) == 0 {
		return c, err
	}
	pods, podsErr := o.pods.List(labels.Everything())
	namespaces, namespacesErr := o.namespaces.List(labels.Everything())
	addresses, sandboxesErr := readSandboxes(sandboxes)
	c = policy.Cluster{Pods: pods, Namespaces: namespaces, Policies: policies, Sandboxes: addresses}
	return c, errors.Join(podsErr, namespacesErr, sandboxesErr)
}

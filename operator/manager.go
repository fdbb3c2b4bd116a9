package main

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/controller"
)

func managerOptions(o options, pods *controller.Pods) ctrl.Options {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two types of one name in these packages
		}
	}
	return ctrl.Options{
		Scheme:                 scheme,
		LeaderElection:         o.leaderElect,
		LeaderElectionID:       contract.OperatorName,
		HealthProbeBindAddress: o.probes,
		PprofBindAddress:       o.pprof,
		Metrics:                server.Options{BindAddress: o.metrics},
		Cache:                  cacheOptions(o.namespaces, pods),
		// After a kill, the next operator waits until the lease has run out: ten seconds at most.
		LeaseDuration: ptr.To(8 * time.Second), RenewDeadline: ptr.To(5 * time.Second), RetryPeriod: ptr.To(2 * time.Second),
		// A new leader need not wait for the old one's lease to run out when that one ended properly.
		LeaderElectionReleaseOnCancel: true,
	}
}

// cacheOptions keep only objects with our label in memory, of each only what we read.
func cacheOptions(namespaces string, pods *controller.Pods) cache.Options {
	ours, err := labels.NewRequirement(contract.LabelCluster, selection.Exists, nil)
	if err != nil {
		panic(err) // the label's name is a constant
	}
	// The reconciler changes none of them, so it need not get copies, which would be made anew of each at every look.
	children := cache.ByObject{Label: labels.NewSelector().Add(*ours), UnsafeDisableDeepCopy: ptr.To(true)}
	options := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:     {Label: children.Label, Transform: stripPod},
			&corev1.Service{}: children, &corev1.ConfigMap{}: children,
			&policyv1.PodDisruptionBudget{}: children, &networkingv1.NetworkPolicy{}: children, &corev1.Node{}: {Transform: stripMachine},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      pods.NewInformer,
	}
	for name := range strings.SplitSeq(namespaces, ",") {
		if name = strings.TrimSpace(name); name != "" {
			if options.DefaultNamespaces == nil {
				options.DefaultNamespaces = map[string]cache.Config{}
			}
			options.DefaultNamespaces[name] = cache.Config{}
		}
	}
	return options
}

// stripPod keeps of pods what is looked at: of a spec, where the pod is, what it tolerates and which claims it uses. There
// may be thousands, and their containers are known from what they were made from.
func stripPod(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, Tolerations: pod.Spec.Tolerations,
			Volumes: slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim == nil })}
	}
	return o, nil
}

// stripMachine keeps of Kubernetes' nodes what says whether pods can stay there.
func stripMachine(o any) (any, error) {
	if node, ok := o.(*corev1.Node); ok {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
			Spec:       corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
			Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
		}, nil
	}
	return o, nil
}

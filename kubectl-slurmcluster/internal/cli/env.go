// Package cli is what every command of the plugin has: streams, the kubeconfig flags, clients made from
// them, and sentences for the errors that a user can do something about.
package cli

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// Scheme knows SlurmClusters, for clients and printers.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(fmt.Sprintf("types of slurmcluster.dev contradict each other: %v", err))
	}
	return s
}

// Env is what a command works with. Tests fill it with fakes.
type Env struct {
	genericiooptions.IOStreams
	// Flags are the kubeconfig flags, as kubectl has them.
	Flags *genericclioptions.ConfigFlags
	// Clusters gives a client for the SlurmClusters of a namespace; "" is all namespaces.
	Clusters func(namespace string) (Clusters, error)
	// Classes lists the SlurmClusterClasses. An operator of before them does not know the resource: not found.
	Classes func(context.Context) ([]v1alpha1.SlurmClusterClass, error)
	// Kube gives a client for Kubernetes' own objects.
	Kube func() (kubernetes.Interface, error)
	// Exec gives what runs commands in containers.
	Exec func() (podexec.Runner, error)
}

// New returns the environment of a real invocation.
func New(streams genericiooptions.IOStreams) *Env {
	flags := genericclioptions.NewConfigFlags(true).WithWarningPrinter(streams)
	return &Env{
		IOStreams: streams,
		Flags:     flags,
		Clusters:  func(namespace string) (Clusters, error) { return newClusters(flags, namespace) },
		Classes: func(ctx context.Context) ([]v1alpha1.SlurmClusterClass, error) {
			client, err := newREST(flags)
			if err != nil {
				return nil, err
			}
			list := &v1alpha1.SlurmClusterClassList{}
			err = client.Get().Resource(ClassResource).Do(ctx).Into(list)
			return list.Items, err
		},
		Kube: func() (kubernetes.Interface, error) { return newKube(flags) },
		Exec: func() (podexec.Runner, error) {
			config, err := flags.ToRESTConfig()
			if err != nil {
				return nil, err
			}
			return podexec.NewRemote(config), nil
		},
	}
}

// Namespace is the namespace that the flags or the kubeconfig's context name.
func (e *Env) Namespace() (string, error) {
	namespace, _, err := e.Flags.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// Hint is a command line for the user to type, such as Hint("resume", "demo").
func (e *Env) Hint(words ...string) string {
	line := "kubectl slurmcluster " + strings.Join(words, " ")
	if namespace, given, err := e.Flags.ToRawKubeConfigLoader().Namespace(); err == nil && given {
		line += " -n " + namespace
	}
	return line
}

func newKube(flags *genericclioptions.ConfigFlags) (kubernetes.Interface, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func newREST(flags *genericclioptions.ConfigFlags) (rest.Interface, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &v1alpha1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(Scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

func newClusters(flags *genericclioptions.ConfigFlags, namespace string) (Clusters, error) {
	client, err := newREST(flags)
	if err != nil {
		return nil, err
	}
	return gentype.NewClientWithList(Resource, client, runtime.NewParameterCodec(Scheme), namespace,
		func() *v1alpha1.SlurmCluster { return &v1alpha1.SlurmCluster{} },
		func() *v1alpha1.SlurmClusterList { return &v1alpha1.SlurmClusterList{} }), nil
}

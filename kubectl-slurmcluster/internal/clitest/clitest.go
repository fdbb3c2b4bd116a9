// Package clitest runs commands of the plugin against fakes.
package clitest

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// Namespace is where the fakes' objects are.
const Namespace = "team-a"

// User is who runs the commands.
const User = "ada"

// World is what a command meets.
type World struct {
	*cli.Env
	// Tracker holds the SlurmClusters.
	Tracker clienttesting.ObjectTracker
	// Fake records the requests for SlurmClusters and can be told to refuse them.
	Fake *clienttesting.Fake
	// Watched is closed when somebody begins to watch. Changes before that would go unseen: unlike an API
	// server, the tracker does not tell a watcher about the past.
	Watched chan struct{}
	once    sync.Once
	// Kubernetes holds the other objects.
	Kubernetes  *kubefake.Clientset
	In          *bytes.Buffer
	Out, ErrOut *bytes.Buffer
}

// New returns a world with these clusters and other objects, where runner runs commands in pods.
func New(t *testing.T, runner podexec.Runner, clusters []runtime.Object, others ...runtime.Object) *World {
	t.Helper()
	w := &World{Fake: &clienttesting.Fake{}, Watched: make(chan struct{}), Kubernetes: kubefake.NewClientset(others...)}
	w.Tracker = clienttesting.NewObjectTracker(cli.Scheme, serializer.NewCodecFactory(cli.Scheme).UniversalDecoder())
	for _, cluster := range clusters {
		require.NoError(t, w.Tracker.Add(cluster))
	}
	w.Fake.AddReactor("*", "*", clienttesting.ObjectReaction(w.Tracker))
	w.Fake.AddWatchReactor("*", w.watch)
	w.Kubernetes.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{
			UserInfo: authenticationv1.UserInfo{Username: User},
		}}, nil
	})
	var streams genericiooptions.IOStreams
	streams, w.In, w.Out, w.ErrOut = genericiooptions.NewTestIOStreams()
	flags := genericclioptions.NewConfigFlags(false)
	namespace := Namespace
	flags.Namespace = &namespace
	w.Env = &cli.Env{
		IOStreams: streams,
		Flags:     flags,
		Clusters:  func(namespace string) (cli.Clusters, error) { return w.clusters(namespace), nil },
		Classes:   func(context.Context) ([]v1alpha1.SlurmClusterClass, error) { return nil, nil },
		Kube:      func() (kubernetes.Interface, error) { return w.Kubernetes, nil },
		Exec:      func() (podexec.Runner, error) { return runner, nil },
	}
	return w
}

func (w *World) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	watcher, err := w.Tracker.Watch(action.GetResource(), action.GetNamespace())
	w.once.Do(func() { close(w.Watched) })
	return true, watcher, err
}

func (w *World) clusters(namespace string) cli.Clusters {
	return gentype.NewFakeClientWithList(w.Fake, namespace,
		v1alpha1.SchemeGroupVersion.WithResource(cli.Resource), v1alpha1.SchemeGroupVersion.WithKind(cli.Kind),
		func() *v1alpha1.SlurmCluster { return &v1alpha1.SlurmCluster{} },
		func() *v1alpha1.SlurmClusterList { return &v1alpha1.SlurmClusterList{} },
		func(dst, src *v1alpha1.SlurmClusterList) { dst.ListMeta = src.ListMeta },
		func(list *v1alpha1.SlurmClusterList) []*v1alpha1.SlurmCluster {
			return gentype.ToPointerSlice(list.Items)
		},
		func(list *v1alpha1.SlurmClusterList, items []*v1alpha1.SlurmCluster) {
			list.Items = gentype.FromPointerSlice(items)
		})
}

// Runner is a podexec.Runner made of a function.
type Runner func(ctx context.Context, target podexec.Target, command []string, streams podexec.Streams) error

// Run implements podexec.Runner.
func (r Runner) Run(ctx context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
	return r(ctx, target, command, streams)
}

//go:build e2e

// Package suite tests the whole of SlurmCluster on a real Kubernetes: its API server, its kubelet, Slurm's
// own daemons. Tests that do not call t.Parallel run before all others and alone.
package suite

import (
	"fmt"
	"os"
	"path"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// removalLimit is how long the namespaces of all tests may take to go.
const removalLimit = 3 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // the clients', who say what goes wrong in their errors
	code := m.Run()
	if err := harness.AwaitRemoval(removalLimit); err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// forImages runs a test for each Slurm image, all at once.
func forImages(t *testing.T, test func(e *harness.Env, use harness.Change)) {
	t.Parallel()
	for _, image := range harness.Images(t) {
		t.Run(path.Base(image), func(t *testing.T) {
			t.Parallel()
			test(harness.New(t), useImage(image))
		})
	}
}

// useImage makes a cluster use an image.
func useImage(image string) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) { s.Image = image }
}

// nodes sets the number of nodes of the first set.
func nodes(n int32) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) { s.NodeSets[0].Replicas = &n }
}

// config sets a parameter of slurm.conf.
func config(key, value string) harness.Change {
	return func(s *v1alpha1.SlurmClusterSpec) {
		s.Config = map[string]v1alpha1.ConfigValue{key: v1alpha1.ConfigValue(value)}
	}
}

// eachItem calls do with each object of a list.
func eachItem(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		do(o.(client.Object))
		return nil
	})
}

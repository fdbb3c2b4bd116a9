//go:build e2e

// Package harness gives each test a namespace of its own on a real Kubernetes, ways to make clusters in it
// and to wait for them, and the whole story when something fails.
package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

const (
	// Patience is how long anything that must happen may take. It is long because many tests share few CPUs;
	// what must be quick is measured by tests that run alone.
	Patience = 2 * time.Minute
	// LabelTest marks the namespaces of tests.
	LabelTest = "slurmcluster.dev/e2e"

	pollEvery = 100 * time.Millisecond
	// testLimit bounds a whole test.
	testLimit = 10 * time.Minute
)

var connect = sync.OnceValues(kube.Connect)

// Env is a namespace of a test's own.
type Env struct {
	*testing.T
	*kube.Kube
	// Ctx ends with the test.
	Ctx context.Context
	// Namespace enforces Pod Security "restricted".
	Namespace string
}

// New makes a namespace for a test and removes it at the end.
func New(t *testing.T) *Env {
	t.Helper()
	return NewFor(t, testLimit)
}

// away is for how long the API server may be stopped by another test.
var away = wait.Backoff{Steps: 60, Duration: time.Second}

func unanswered(err error) bool {
	return utilnet.IsProbableEOF(err) || utilnet.IsConnectionRefused(err)
}

// NewFor is New for a test that may take longer.
func NewFor(t *testing.T, limit time.Duration) *Env {
	t.Helper()
	k, err := connect()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       map[string]string{LabelTest: "", "pod-security.kubernetes.io/enforce": "restricted"},
		Annotations:  map[string]string{LabelTest: t.Name()},
	}}
	require.NoError(t, k.Create(ctx, namespace))
	e := &Env{T: t, Kube: k, Ctx: ctx, Namespace: namespace.Name}
	t.Cleanup(func() {
		if t.Failed() {
			e.tell()
		}
		if os.Getenv("E2E_KEEP") == "" {
			require.NoError(t, retry.OnError(away, unanswered, func() error {
				return client.IgnoreNotFound(k.Delete(context.Background(), namespace))
			}))
		}
	})
	return e
}

// Sub is the same namespace for a subtest.
func (e *Env) Sub(t *testing.T) *Env {
	return &Env{T: t, Kube: e.Kube, Ctx: e.Ctx, Namespace: e.Namespace}
}

// Kubectl runs kubectl in the test's namespace and returns its output.
func (e *Env) Kubectl(args ...string) string {
	e.Helper()
	out, err := e.TryKubectl(nil, args...)
	require.NoError(e, err)
	return out
}

// TryKubectl is Kubectl with standard input and an error. The namespace goes right behind the command:
// plugins want it before the cluster's name, and "kubectl create" behind it.
func (e *Env) TryKubectl(in io.Reader, args ...string) (string, error) {
	at := 2
	if args[0] != "slurmcluster" && args[0] != "create" {
		at = 1
	}
	all := append([]string{}, args[:at]...)
	all = append(all, "--namespace="+e.Namespace)
	return kube.Local(e.Ctx, in, "kubectl", append(all, args[at:]...)...)
}

// Eventually waits until check returns nil, and fails with its last error.
func (e *Env) Eventually(limit time.Duration, what string, check func() error) time.Duration {
	e.Helper()
	start := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check()
		switch {
		case err == nil:
			return time.Since(start)
		case time.Since(start) > limit:
			require.FailNow(e, what, "not after %s: %s", limit, err)
		}
		select {
		case <-tick.C:
		case <-e.Ctx.Done():
			require.FailNow(e, what, "the test's time is over: %s", err)
		}
	}
}

// AwaitEvent waits until an event with the reason holds words, and returns the messages of all of that reason. The operator
// records events beside its work, so that one may come a moment after the status that it tells of.
func (e *Env) AwaitEvent(reason, words string) string {
	e.Helper()
	var told string
	e.Eventually(Patience, "an event "+reason, func() error {
		told = e.Kubectl("get", "events", "--field-selector=reason="+reason, "--output=jsonpath={.items[*].message}")
		if !strings.Contains(told, words) {
			return fmt.Errorf("%q does not hold %q", told, words)
		}
		return nil
	})
	return told
}

// Images are the Slurm images to test with, from SLURM_IMAGES.
func Images(t *testing.T) []string {
	t.Helper()
	list := os.Getenv("SLURM_IMAGES")
	require.NotEmpty(t, list, "SLURM_IMAGES must name the Slurm images to test, separated by commas")
	return strings.Split(list, ",")
}

// AwaitRemoval waits until the namespaces of tests are gone but for those named; what stays is an error.
func AwaitRemoval(limit time.Duration, but ...string) error {
	k, err := connect()
	if err != nil || os.Getenv("E2E_KEEP") != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		list := &corev1.NamespaceList{}
		if err := k.List(ctx, list, client.HasLabels{LabelTest}); err != nil {
			return fmt.Errorf("listing the namespaces of tests: %w", err)
		}
		left := slices.DeleteFunc(list.Items, func(n corev1.Namespace) bool { return slices.Contains(but, n.Name) })
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("namespace %s of %s is still there: %+v", left[0].Name, left[0].Annotations[LabelTest], left[0].Status)
		}
	}
}

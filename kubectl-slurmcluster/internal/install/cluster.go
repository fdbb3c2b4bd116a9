package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/charts"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

const fieldManager = "kubectl-slurmcluster"

var crds = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// clients do what is outside of the chart.
type clients struct {
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

func connect(env *cli.Env) (*clients, error) {
	config, err := env.Flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	kube, err := env.Kube()
	if err != nil {
		return nil, err
	}
	generic, err := dynamic.NewForConfig(config)
	return &clients{kube: kube, dynamic: generic}, err
}

// ensureNamespace makes the namespace if it is missing. Labels of one that exists are somebody's decision.
func (c *clients) ensureNamespace(ctx context.Context, name string) (string, error) {
	_, err := c.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "app.kubernetes.io/part-of": "slurmcluster"},
	}}, metav1.CreateOptions{FieldManager: fieldManager})
	switch {
	case err == nil:
		return "created", nil
	case apierrors.IsAlreadyExists(err):
		return "exists", nil
	case apierrors.IsForbidden(err): // it may exist all the same
		_, getErr := c.kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if getErr == nil {
			return "exists", nil
		}
	}
	return "", err
}

// applyCRD installs or updates a custom resource definition of the charts and waits until the API server serves it.
func (c *clients) applyCRD(ctx context.Context, file string, timeout time.Duration) (string, error) {
	data, err := charts.Files.ReadFile(file)
	if err != nil {
		return "", err
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &crd.Object); err != nil {
		return "", fmt.Errorf("reading the built-in definition: %w", err)
	}
	client := c.dynamic.Resource(crds)
	if _, err := client.Apply(ctx, crd.GetName(), crd, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return "", err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		got, err := client.Get(ctx, crd.GetName(), metav1.GetOptions{})
		return err == nil && established(got), err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the API server does not serve it after %s; see: kubectl describe customresourcedefinition %s", timeout, crd.GetName())
	}
	return "applied", err
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == string(apiextensionsv1.Established) && condition["status"] == string(apiextensionsv1.ConditionTrue) {
			return true
		}
	}
	return false
}

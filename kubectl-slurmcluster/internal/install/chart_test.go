package install

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/charts"
)

// render gives the manifests of the chart by kind, and by name within a kind.
func render(t *testing.T, o options) (map[string]map[string]string, error) {
	operator, err := loadChart()
	require.NoError(t, err)
	given, err := o.chartValues()
	require.NoError(t, err)
	all, err := chartutil.ToRenderValues(operator, given,
		chartutil.ReleaseOptions{Name: charts.Operator, Namespace: "system", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(operator, all)
	require.NoError(t, err)
	manifests := map[string]map[string]string{}
	for path, content := range files {
		if strings.HasSuffix(path, "NOTES.txt") {
			continue
		}
		for _, manifest := range releaseutil.SplitManifests(content) {
			var head releaseutil.SimpleHead
			require.NoError(t, yaml.Unmarshal([]byte(manifest), &head), manifest)
			if manifests[head.Kind] == nil {
				manifests[head.Kind] = map[string]string{}
			}
			var meta struct {
				Metadata struct{ Name, Namespace string } `json:"metadata"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(manifest), &meta))
			manifests[head.Kind][meta.Metadata.Namespace+"/"+meta.Metadata.Name] = manifest
		}
	}
	return manifests, nil
}

func decode[T any](t *testing.T, manifest string) T {
	var object T
	require.NoError(t, yaml.UnmarshalStrict([]byte(manifest), &object), manifest)
	return object
}

func rules(t *testing.T) []rbacv1.PolicyRule {
	data, err := charts.Files.ReadFile(charts.Operator + "/files/role.yaml")
	require.NoError(t, err)
	return decode[rbacv1.ClusterRole](t, string(data)).Rules
}

func TestChartDefaults(t *testing.T) {
	manifests, err := render(t, options{})
	require.NoError(t, err)
	role := decode[rbacv1.ClusterRole](t, manifests["ClusterRole"]["/slurmcluster-operator:system"])
	machines := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}}
	assert.Equal(t, append(rules(t), machines), role.Rules, "the rights are those that the operator's source asks for, and to see cordoned machines")
	decode[rbacv1.ClusterRoleBinding](t, manifests["ClusterRoleBinding"]["/slurmcluster-operator:system"])
	edit := decode[rbacv1.ClusterRole](t, manifests["ClusterRole"]["/slurmcluster-operator:system:edit"])
	assert.Equal(t, "true", edit.Labels["rbac.authorization.k8s.io/aggregate-to-edit"])
	assert.Len(t, manifests["Role"], 1, "leader election")
	assert.Contains(t, manifests["Service"], "system/slurmcluster-operator-metrics")

	deployment := decode[appsv1.Deployment](t, manifests["Deployment"]["system/slurmcluster-operator"])
	pod := deployment.Spec.Template.Spec
	assert.True(t, *pod.SecurityContext.RunAsNonRoot)
	container := pod.Containers[0]
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, "ghcr.io/slurmcluster/operator:0.1.0", container.Image)
	assert.Contains(t, container.Args, "--slurm-image=ghcr.io/slurmcluster/slurm:0.1.0-trixie")
	assert.Contains(t, container.Args, "--watch-namespaces=")
}

func TestChartForNamespaces(t *testing.T) {
	manifests, err := render(t, options{image: "registry.example/operator:1", slurm: "slurm:2", watch: []string{"a", "b"}})
	require.NoError(t, err)
	assert.Len(t, manifests["ClusterRoleBinding"], 1)
	assert.Len(t, manifests["ClusterRole"], 3, "beside those for users")
	classes := decode[rbacv1.ClusterRole](t, manifests["ClusterRole"]["/slurmcluster-operator:system:classes"])
	assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{"slurmcluster.dev"}, Resources: []string{"slurmclusterclasses"}, Verbs: []string{"get", "list", "watch"}}},
		classes.Rules, "no other rights outside of the namespaces")
	for _, namespace := range []string{"a", "b"} {
		role := decode[rbacv1.Role](t, manifests["Role"][namespace+"/slurmcluster-operator"])
		assert.Equal(t, rules(t), role.Rules)
		binding := decode[rbacv1.RoleBinding](t, manifests["RoleBinding"][namespace+"/slurmcluster-operator"])
		assert.Equal(t, "system", binding.Subjects[0].Namespace)
	}
	container := decode[appsv1.Deployment](t, manifests["Deployment"]["system/slurmcluster-operator"]).Spec.Template.Spec.Containers[0]
	assert.Equal(t, "registry.example/operator:1", container.Image)
	assert.Contains(t, container.Args, "--slurm-image=slurm:2")
	assert.Contains(t, container.Args, "--watch-namespaces=a,b")
}

func TestChartWithEverything(t *testing.T) {
	manifests, err := render(t, options{values: values.Options{Values: []string{
		"replicas=2", "imagePullPolicy=Never", "imagePullSecrets={one}", "metrics.enabled=false", "logLevel=debug", "pollInterval=1m30s",
		"nodeSelector.disk=ssd", "tolerations[0].operator=Exists", "priorityClassName=high", "resources.limits.memory=1Gi",
	}}})
	require.NoError(t, err)
	assert.Empty(t, manifests["Service"])
	deployment := decode[appsv1.Deployment](t, manifests["Deployment"]["system/slurmcluster-operator"])
	assert.EqualValues(t, 2, *deployment.Spec.Replicas)
	assert.Contains(t, deployment.Spec.Template.Spec.Containers[0].Args, "--metrics-bind-address=0")
	assert.Equal(t, "ssd", deployment.Spec.Template.Spec.NodeSelector["disk"])
}

func TestSchemaRefuses(t *testing.T) {
	for _, value := range []string{
		"replica=2", "replicas=-1", "replicas=two", "image.tag=1", "image=bad image", "imagePullPolicy=Sometimes", "watchNamespaces=a",
		"watchNamespaces={A}", "watchNamespaces={a,a}", "pollInterval=5", "logLevel=loud", "metrics.enabled=maybe", "nodeSelector=a",
	} {
		_, err := render(t, options{values: values.Options{Values: []string{value}}})
		assert.ErrorContains(t, err, "schema", value)
	}
}

func TestChartWithoutClasses(t *testing.T) {
	manifests, err := render(t, options{watch: []string{"a"}, values: values.Options{Values: []string{"classes=false", "admissionPolicies=false"}}})
	require.NoError(t, err)
	assert.Empty(t, manifests["ClusterRoleBinding"], "no rights outside of the namespaces")
	assert.Empty(t, manifests["ValidatingAdmissionPolicy"])
	container := decode[appsv1.Deployment](t, manifests["Deployment"]["system/slurmcluster-operator"]).Spec.Template.Spec.Containers[0]
	assert.Contains(t, container.Args, "--classes=false")
}

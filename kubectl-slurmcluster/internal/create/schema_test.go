package create

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/charts"
)

// apiServer decides about an object the way the API server does.
func apiServer(t *testing.T) func(object map[string]any) field.ErrorList {
	data, err := charts.Files.ReadFile(charts.OperatorCRD)
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(data, &crd))
	var openAPI apiextensions.JSONSchemaProps
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &openAPI, nil))
	structural, err := schema.NewStructural(&openAPI)
	require.NoError(t, err)
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	types, _, err := validation.NewSchemaValidator(&openAPI)
	require.NoError(t, err)
	return func(object map[string]any) field.ErrorList {
		errs := validation.ValidateCustomResource(nil, object, types)
		broken, _ := rules.Validate(t.Context(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
		return append(errs, broken...)
	}
}

// object is a valid object with one part replaced.
func object(replace func(metadata, spec, set map[string]any)) map[string]any {
	metadata := map[string]any{"name": "demo"}
	set := map[string]any{"name": "cpu", "replicas": int64(1), "resources": map[string]any{"cpu": "1", "memory": "1Gi"}}
	spec := map[string]any{"nodeSets": []any{set}}
	replace(metadata, spec, set)
	return map[string]any{"apiVersion": "slurmcluster.dev/v1alpha1", "kind": "SlurmCluster", "metadata": metadata, "spec": spec}
}

func resources(cpu, memory string) map[string]any {
	return map[string]any{"cpu": cpu, "memory": memory}
}

// The plugin must refuse what the API server refuses, and nothing else.
func TestSameRulesAsSchema(t *testing.T) {
	refusals := apiServer(t)
	tests := map[string]struct {
		values []string
		option func(o *Options, value string)
		part   func(value string) func(metadata, spec, set map[string]any)
	}{
		"name": {
			values: append(randomNames(300), "a", "a-b", "-a", "a-", "1a", "a.b", "", strings.Repeat("a", 40), strings.Repeat("a", 41), "a\n"),
			option: func(o *Options, v string) { o.Name = v },
			part:   func(v string) func(m, s, n map[string]any) { return func(m, _, _ map[string]any) { m["name"] = v } },
		},
		"node set": {
			values: append(randomNames(300), "cpu-1", "cpu-1a", "login", "all", "default", "controller", "logins", "sixteen-letters-", "sixteen-letters1", "a-"),
			option: func(o *Options, v string) { o.NodeSet = v },
			part:   func(v string) func(m, s, n map[string]any) { return func(_, _, n map[string]any) { n["name"] = v } },
		},
		"cpus": {
			values: []string{"0", "1", "999m", "1000m", "100m", "1500m", "-1", "1e1", "2Ki", "0.5", "1.0", "+1"},
			option: func(o *Options, v string) { o.CPUs = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["resources"] = resources(v, "1Gi") }
			},
		},
		"memory": {
			values: []string{"0", "128Mi", "127Mi", "134217728", "134217727", "512m", "1G", "0.125Gi", "-1Gi", "1e9"},
			option: func(o *Options, v string) { o.Memory = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["resources"] = resources("1", v) }
			},
		},
		"storage": {
			values: []string{"0", "1Gi", "1", "-1"},
			option: func(o *Options, v string) { o.Storage = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) {
					s["controller"] = map[string]any{"storage": map[string]any{"size": v}}
				}
			},
		},
		"features": {
			values: append(randomNames(100), "A_b.c-d", "_a", ".a", "a=b", "", strings.Repeat("a", 40), strings.Repeat("a", 41)),
			option: func(o *Options, v string) { o.Features = []string{v} },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["features"] = []any{v} }
			},
		},
		"image": {
			values: []string{"a", "ghcr.io/x/y:1@sha256:0", "-a", "a b", "a\n", strings.Repeat("a", 500), strings.Repeat("a", 501)},
			option: func(o *Options, v string) { o.Image = v },
			part:   func(v string) func(m, s, n map[string]any) { return func(_, s, _ map[string]any) { s["image"] = v } },
		},
		"path": {
			values: []string{
				"/data", "/", "data", "", "/a:b", "/a,b", "/a..b", "/a/../b", "/etc", "/etc/x", "/etcetera", "/var", "/var/lib/slurmctld", "/var/lib/x",
				"/home/user", "/lib64/x", "/run", "/a\nb", "/a b", "/é", "/" + strings.Repeat("a", 254), "/" + strings.Repeat("é", 255),
			},
			option: func(o *Options, v string) { o.Volumes = []string{"claim:" + v} },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) {
					s["volumes"] = []any{map[string]any{"name": "v", "mountPath": v, "persistentVolumeClaim": map[string]any{"claimName": "claim"}}}
				}
			},
		},
		"config key": {
			values: []string{"MaxJobCount", "a", "1a", "a b", "a-b", "SlurmUser", "slurmuser", strings.Repeat("a", 64), strings.Repeat("a", 65), "TaskPlugin", "TaskPluginParam"},
			option: func(o *Options, v string) { o.Config = []string{v + "=1"} },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) { s["config"] = map[string]any{v: "1"} }
			},
		},
		"config value": {
			values: []string{"1", "", "a=b", "a#b", "a\nb", "a\tb", "a\x7fb", "é", strings.Repeat("é", 1024), strings.Repeat("a", 1025), " "},
			option: func(o *Options, v string) { o.Config = []string{"A=" + v} },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) { s["config"] = map[string]any{"A": v} }
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, value := range test.values {
				if name == "image" && value == "" {
					continue
				}
				o := NewOptions(nil)
				o.Name = "demo"
				test.option(o, value)
				err, refused := o.Validate(), refusals(object(test.part(value)))
				assert.Equal(t, len(refused) > 0, err != nil, "%q: the plugin says %v, the API server %v", value, err, refused)
			}
		})
	}
}

// randomNames are near-names: mostly valid, with an odd character now and then.
func randomNames(n int) []string {
	random := rand.New(rand.NewPCG(1, 2))
	const characters = "abcxyz012-aaa-.A_"
	names := make([]string, 0, n)
	for range n {
		var b strings.Builder
		for range 1 + random.IntN(20) {
			b.WriteByte(characters[random.IntN(len(characters))])
		}
		names = append(names, b.String())
	}
	return names
}

func TestSameOperatorKeysAsSchema(t *testing.T) {
	data, err := charts.Files.ReadFile(charts.OperatorCRD)
	require.NoError(t, err)
	rule := regexp.MustCompile(`(?s)k\.lowerAscii\(\) in \[(.*?)\]`).FindStringSubmatch(string(data))
	require.NotNil(t, rule, "the rule of spec.config has another form now")
	keys := map[string]bool{}
	for _, quoted := range regexp.MustCompile(`'{1,2}([A-Za-z0-9]+)'{1,2}`).FindAllStringSubmatch(rule[1], -1) {
		keys[strings.ToLower(quoted[1])] = true
	}
	ours := map[string]bool{}
	for _, key := range operatorKeys {
		ours[key] = true
	}
	assert.Equal(t, keys, ours, "operatorKeys in config.go must hold the keys of the CRD's rule")
}

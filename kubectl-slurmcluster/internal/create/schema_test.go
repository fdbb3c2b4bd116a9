package create

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
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

// device is a change of the object that gives its nodes a device with this field.
func device(field string, value any) func(metadata, spec, set map[string]any) {
	device := map[string]any{"resource": "a/b"}
	device[field] = value
	return func(_, _, set map[string]any) { set["resources"].(map[string]any)["devices"] = []any{device} }
}

// partition is a change of the object that gives it a partition with this field.
func partition(field string, value any) func(metadata, spec, set map[string]any) {
	partition := map[string]any{"name": "day"}
	partition[field] = value
	return func(_, spec, _ map[string]any) { spec["partitions"] = []any{partition} }
}

// whole is the number that a text is, or else the text.
func whole(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
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
			option: func(o *Options, v string) { o.NodeSet.Name = v },
			part:   func(v string) func(m, s, n map[string]any) { return func(_, _, n map[string]any) { n["name"] = v } },
		},
		"cpus": {
			values: []string{"0", "1", "999m", "1000m", "100m", "1500m", "-1", "1e1", "2Ki", "0.5", "1.0", "+1"},
			option: func(o *Options, v string) { o.NodeSet.CPUs = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["resources"] = resources(v, "1Gi") }
			},
		},
		"memory": {
			values: []string{"0", "128Mi", "127Mi", "134217728", "134217727", "512m", "1G", "0.125Gi", "-1Gi", "1e9"},
			option: func(o *Options, v string) { o.NodeSet.Memory = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["resources"] = resources("1", v) }
			},
		},
		"storage": {
			values: []string{"0", "1Gi", "1", "1m", "-1"},
			option: func(o *Options, v string) { o.Storage = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) {
					s["controller"] = map[string]any{"storage": map[string]any{"size": v}}
				}
			},
		},
		"tmp": {
			values: []string{"0", "1Gi", "1m", "-1"},
			option: func(o *Options, v string) { o.NodeSet.Tmp = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["resources"].(map[string]any)["tmp"] = v }
			},
		},
		"device": {
			values: []string{
				"nvidia.com/gpu", "a/b", "a", "a/", "/a", "A/b", "a/B_c.d", "a/b/c", "a./b", "é/a",
				strings.Repeat("a", 251) + "/a", strings.Repeat("a", 252) + "/a",
			},
			option: func(o *Options, v string) { o.NodeSet.Devices = []string{v} },
			part:   func(v string) func(m, s, n map[string]any) { return device("resource", v) },
		},
		"count of devices": {
			values: []string{"1", "1024", "0", "-1", "1025"},
			option: func(o *Options, v string) { o.NodeSet.Devices = []string{"a/b=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return device("count", whole(v)) },
		},
		"gres": {
			values: []string{"gpu", "g_1", "1g", "_g", "GPU", "a-b", "mps", "shard", "craynetwork", "gpu\n", strings.Repeat("a", 32), strings.Repeat("a", 33)},
			option: func(o *Options, v string) { o.NodeSet.Devices = []string{"a/b:" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return device("gres", v) },
		},
		"files of devices": {
			values: []string{"/dev/a", "/dev/a[0-9]?*", "/dev/", "/tmp/a", "/dev/a b", "/dev/a\n", "/dev/" + strings.Repeat("a", 123), "/dev/" + strings.Repeat("a", 124)},
			option: func(o *Options, v string) { o.NodeSet.Devices = []string{"a/b:" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return device("files", []any{v}) },
		},
		"runtime class": {
			values: append(randomNames(100), "a", "a.b", "a-", ".a", "A", "a_b", strings.Repeat("a", 253), strings.Repeat("a", 254)),
			option: func(o *Options, v string) { o.NodeSet.RuntimeClass = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["runtimeClassName"] = v }
			},
		},
		"priority class": {
			values: append(randomNames(100), "a", "a.b", "a-", ".a", "A", "a_b", strings.Repeat("a", 253), strings.Repeat("a", 254)),
			option: func(o *Options, v string) { o.NodeSet.PriorityClass = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["priorityClassName"] = v }
			},
		},
		"task binding": {
			values: []string{"None", "Cores", "Sockets"},
			option: func(o *Options, v string) { o.NodeSet.TaskBinding = strings.ToLower(v) },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["taskBinding"] = v }
			},
		},
		"cores and cpus": {
			values: []string{"1", "1500m", "1000m", "2.0", "1.5"},
			option: func(o *Options, v string) { o.NodeSet.TaskBinding, o.NodeSet.CPUs = "cores", v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["taskBinding"], n["resources"] = "Cores", resources(v, "1Gi") }
			},
		},
		"cores and requests": {
			values: []string{"1", "0"},
			option: func(o *Options, v string) { o.NodeSet.TaskBinding, o.NodeSet.CPURequest = "cores", v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) {
					n["taskBinding"] = "Cores"
					n["resources"].(map[string]any)["requests"] = map[string]any{"cpu": v}
				}
			},
		},
		"cores and autoscale": {
			values: []string{"4"},
			option: func(o *Options, v string) { o.NodeSet.TaskBinding, o.NodeSet.Nodes = "cores", "0-"+v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) {
					delete(n, "replicas")
					n["taskBinding"], n["autoscale"] = "Cores", map[string]any{"min": int64(0), "max": whole(v)}
				}
			},
		},
		"max unavailable": {
			values: []string{"1", "0", "-1", "4", "25%", "0%", "25", "a"},
			option: func(o *Options, v string) { o.NodeSet.MaxUnavailable = v },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["maxUnavailable"] = whole(v) }
			},
		},
		"node selectors": {
			values: []string{"1", "32", "33"},
			option: func(o *Options, v string) {
				for i := range whole(v).(int64) {
					o.NodeSet.NodeSelector = append(o.NodeSet.NodeSelector, fmt.Sprintf("k%d=v", i))
				}
			},
			part: func(v string) func(m, s, n map[string]any) {
				selector := map[string]any{}
				for i := range whole(v).(int64) {
					selector[fmt.Sprintf("k%d", i)] = "v"
				}
				return func(_, _, n map[string]any) { n["template"] = map[string]any{"nodeSelector": selector} }
			},
		},
		"tolerations": {
			values: []string{"1", "32", "33"},
			option: func(o *Options, v string) {
				o.NodeSet.Tolerations = slices.Repeat([]string{"a"}, int(whole(v).(int64)))
			},
			part: func(v string) func(m, s, n map[string]any) {
				tolerations := slices.Repeat([]any{map[string]any{"key": "a"}}, int(whole(v).(int64)))
				return func(_, _, n map[string]any) { n["template"] = map[string]any{"tolerations": tolerations} }
			},
		},
		"devices": {
			values: []string{"1", "8", "9"},
			option: func(o *Options, v string) {
				for i := range whole(v).(int64) {
					o.NodeSet.Devices = append(o.NodeSet.Devices, fmt.Sprintf("a/b%d", i))
				}
			},
			part: func(v string) func(m, s, n map[string]any) {
				var devices []any
				for i := range whole(v).(int64) {
					devices = append(devices, map[string]any{"resource": fmt.Sprintf("a/b%d", i)})
				}
				return func(_, _, n map[string]any) { n["resources"].(map[string]any)["devices"] = devices }
			},
		},
		"node sets": {
			values: []string{"1", "11", "12"},
			option: func(o *Options, v string) {
				for i := range whole(v).(int64) {
					o.AddNodes = append(o.AddNodes, fmt.Sprintf("name=set%d", i))
				}
			},
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) {
					for i := range whole(v).(int64) {
						s["nodeSets"] = append(s["nodeSets"].([]any), map[string]any{"name": fmt.Sprintf("set%d", i), "resources": resources("1", "1Gi")})
					}
				}
			},
		},
		"second node set": {
			values: []string{"gpu", "login", "gpu-1"},
			option: func(o *Options, v string) { o.AddNodes = []string{"name=" + v} },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) {
					s["nodeSets"] = append(s["nodeSets"].([]any), map[string]any{"name": v, "resources": resources("1", "1Gi")})
				}
			},
		},
		"partition": {
			values: append(randomNames(100), "Day", "day-1", "day_1", "1day", "-day", "default", "DEFAULT", "a.b", strings.Repeat("a", 32), strings.Repeat("a", 33)),
			option: func(o *Options, v string) { o.Partitions = []string{"name=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return partition("name", v) },
		},
		"node sets of a partition": {
			values: []string{"cpu", "gpu", strings.Repeat("a", 17)},
			option: func(o *Options, v string) { o.nodesGiven, o.Partitions = true, []string{"name=day,node-sets=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return partition("nodeSets", []any{v}) },
		},
		"time of a partition": {
			values: []string{"1", "90", "1-0", "1:2", "1:2:3", "1-2:3:4", "1-2:3:4:5", "UNLIMITED", "INFINITE", "unlimited", "1d", "1h", "-1", strings.Repeat("1", 7)},
			option: func(o *Options, v string) { o.Partitions = []string{"name=day,default-time=" + v + ",max-time=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return partition("maxTime", v) },
		},
		"nodes of a partition": {
			values: []string{"1", "0", "2147483647"},
			option: func(o *Options, v string) { o.Partitions = []string{"name=day,max-nodes=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return partition("maxNodes", whole(v)) },
		},
		"priority of a partition": {
			values: []string{"0", "65533", "65534", "-1"},
			option: func(o *Options, v string) { o.Partitions = []string{"name=day,priority-tier=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return partition("priorityTier", whole(v)) },
		},
		"state of a partition": {
			values: []string{"UP", "DOWN", "DRAIN", "INACTIVE", "OPEN"},
			option: func(o *Options, v string) { o.Partitions = []string{"name=day,state=" + v} },
			part:   func(v string) func(m, s, n map[string]any) { return partition("state", v) },
		},
		"partitions": {
			values: []string{"1", "16", "17"},
			option: func(o *Options, v string) {
				for i := range whole(v).(int64) {
					o.Partitions = append(o.Partitions, fmt.Sprintf("name=p%d", i))
				}
			},
			part: func(v string) func(m, s, n map[string]any) {
				var partitions []any
				for i := range whole(v).(int64) {
					partitions = append(partitions, map[string]any{"name": fmt.Sprintf("p%d", i)})
				}
				return func(_, s, _ map[string]any) { s["partitions"] = partitions }
			},
		},
		"auth": {
			values: []string{"Munge", "Slurm", "Kerberos"},
			option: func(o *Options, v string) { o.Auth = strings.ToLower(v) },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) { s["auth"] = map[string]any{"type": v} }
			},
		},
		"egress": {
			values: []string{"Open", "Restricted", "Closed"},
			option: func(o *Options, v string) { o.Egress = strings.ToLower(v) },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) { s["network"] = map[string]any{"egress": v} }
			},
		},
		"isolation": {
			values: []string{"Isolated", "None", "Some"},
			option: func(o *Options, v string) { o.Isolation = strings.ToLower(v) },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, s, _ map[string]any) {
					s["auth"], s["network"] = map[string]any{"type": "Munge"}, map[string]any{"isolation": v}
				}
			},
		},
		"features": {
			values: append(randomNames(100), "A_b.c-d", "_a", ".a", "a=b", "", strings.Repeat("a", 40), strings.Repeat("a", 41)),
			option: func(o *Options, v string) { o.NodeSet.Features = []string{v} },
			part: func(v string) func(m, s, n map[string]any) {
				return func(_, _, n map[string]any) { n["features"] = []any{v} }
			},
		},
		"image": {
			values: []string{"a", "ghcr.io/x/y:1@sha256:0", "-a", "a b", "a\n", strings.Repeat("a", 500), strings.Repeat("a", 501)},
			option: func(o *Options, v string) { o.Image = v },
			part:   func(v string) func(m, s, n map[string]any) { return func(_, s, _ map[string]any) { s["image"] = v } },
		},
		"node image": {
			values: []string{"a", "ghcr.io/x/y:1@sha256:0", "-a", "a b", "a\n", strings.Repeat("a", 500), strings.Repeat("a", 501)},
			option: func(o *Options, v string) { o.NodeSet.Image = v },
			part:   func(v string) func(m, s, n map[string]any) { return func(_, _, n map[string]any) { n["image"] = v } },
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

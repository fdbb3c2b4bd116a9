package list

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

const (
	columns = `[{"name": "Name", "type": "string"}, {"name": "Ready", "type": "string"}, {"name": "Age", "type": "date"}, {"name": "Reason", "type": "string", "priority": 1}]`
	rows    = `[
		{"cells": ["demo", "True", "3m", "Ready"], "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "demo", "namespace": "team-a"}}},
		{"cells": ["other", "False", "1d", "Starting"], "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "other", "namespace": "team-a"}}}
	]`
	table = `{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": ` + columns + `, "rows": ` + rows + `}`
	demo  = `{"kind": "SlurmCluster", "apiVersion": "slurmcluster.dev/v1alpha1", "metadata": {"name": "demo", "namespace": "team-a"}}`
)

var answers = map[string]string{
	"/api":                            `{"kind": "APIVersions", "versions": ["v1"]}`,
	"/api/v1":                         `{"kind": "APIResourceList", "groupVersion": "v1", "resources": []}`,
	"/apis":                           `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "slurmcluster.dev", "versions": [{"groupVersion": "slurmcluster.dev/v1alpha1", "version": "v1alpha1"}], "preferredVersion": {"groupVersion": "slurmcluster.dev/v1alpha1", "version": "v1alpha1"}}]}`,
	"/apis/slurmcluster.dev/v1alpha1": `{"kind": "APIResourceList", "groupVersion": "slurmcluster.dev/v1alpha1", "resources": [{"name": "slurmclusters", "singularName": "slurmcluster", "namespaced": true, "kind": "SlurmCluster", "verbs": ["get", "list", "watch"]}]}`,
}

// world has an API server with two clusters, of which one ends in some hours.
func world(t *testing.T) *clitest.World {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := answers[r.URL.Path]
		if path, found := strings.CutPrefix(r.URL.Path, "/apis/slurmcluster.dev/v1alpha1/namespaces/team-a/slurmclusters"); found {
			switch text = table; {
			case !strings.Contains(r.Header.Get("Accept"), "as=Table") && path == "":
				text = `{"kind": "SlurmClusterList", "apiVersion": "slurmcluster.dev/v1alpha1", "items": [` + demo + `]}`
			case !strings.Contains(r.Header.Get("Accept"), "as=Table"):
				text = demo
			}
		}
		if text == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, err := fmt.Fprint(w, text)
		assert.NoError(t, err)
	}))
	t.Cleanup(server.Close)
	w := clitest.New(t, nil, []runtime.Object{clitest.Cluster(func(c *v1alpha1.SlurmCluster) {
		c.Status.ExpiresAt = &metav1.Time{Time: time.Now().Add(3*time.Hour + 12*time.Minute + 30*time.Second)}
	})})
	cache := t.TempDir()
	w.Flags.APIServer, w.Flags.CacheDir = &server.URL, &cache
	return w
}

func TestList(t *testing.T) {
	for args, want := range map[string]string{
		"": `NAME    READY   AGE   LEFT
demo    True    3m    3h12m
other   False   1d    -
`,
		"-o wide": `NAME    READY   AGE   LEFT    REASON
demo    True    3m    3h12m   Ready
other   False   1d    -       Starting
`,
		"--no-headers":                       "demo    True    3m    3h12m\nother   False   1d    -\n",
		"-o name":                            "slurmcluster.slurmcluster.dev/demo\n",
		"demo -o jsonpath={.metadata.name}":  "demo",
		"-o custom-columns=X:.metadata.name": "X\ndemo\n",
	} {
		t.Run(args, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "/does/not/exist")
			w := world(t)
			require.NoError(t, clitest.Run(t, Command(w.Env), strings.Fields(args)...))
			assert.Equal(t, want, trim(w.Out.String()))
		})
	}
}

// trim removes what a table has behind its last column.
func trim(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// A watch gives a table for each change, the first with a header, and the time may be another by then.
func TestColumnOfWatch(t *testing.T) {
	w := world(t)
	o := get.NewGetOptions("", w.IOStreams)
	o.Watch = true
	times, err := timesOf(t.Context(), w.Env, o)
	require.NoError(t, err)
	cells := func(columns string) []any {
		row := rows[:strings.LastIndex(rows, "{\"cells\"")]
		text := `{"kind": "Table", "apiVersion": "meta.k8s.io/v1", ` + columns + `"rows": ` + strings.TrimRight(row, ",\n\t ") + `]}`
		object := &unstructured.Unstructured{}
		require.NoError(t, object.UnmarshalJSON([]byte(text)))
		require.NoError(t, times.addColumn(object))
		return object.Object["rows"].([]any)[0].(map[string]any)["cells"].([]any)
	}
	assert.Equal(t, []any{"demo", "True", "3m", "3h12m", "Ready"}, cells(`"columnDefinitions": `+columns+`, `))
	cluster := w.Get(t)
	cluster.Status.ExpiresAt = &metav1.Time{Time: time.Now().Add(90*time.Minute + 30*time.Second)}
	w.Set(t, cluster)
	assert.Equal(t, []any{"demo", "True", "3m", "90m", "Ready"}, cells(""))
}

func TestOperatorNotInstalled(t *testing.T) {
	w := world(t)
	w.Fake.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewGenericServerResponse(404, "get", v1alpha1.SchemeGroupVersion.WithResource(cli.Resource).GroupResource(),
			"", "404 page not found", 0, true)
	})
	require.ErrorContains(t, clitest.Run(t, Command(w.Env)), "install it with: kubectl slurmcluster install")
}

func TestHelpIsShort(t *testing.T) {
	w := world(t)
	cmd := Command(w.Env)
	for _, name := range shown {
		assert.NotNil(t, cmd.Flags().Lookup(name), name)
	}
	for name := range usages {
		assert.NotNil(t, cmd.Flags().Lookup(name), name)
	}
}

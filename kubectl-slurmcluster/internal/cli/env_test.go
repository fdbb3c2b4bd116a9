package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// clustersOf is the real client, talking to this handler.
func clustersOf(t *testing.T, handler http.HandlerFunc) Clusters {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	env := New(streams)
	t.Setenv("KUBECONFIG", "/does/not/exist")
	env.Flags.APIServer = &server.URL
	clusters, err := env.Clusters("team-a")
	require.NoError(t, err)
	return clusters
}

func TestClient(t *testing.T) {
	clusters := clustersOf(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/apis/slurmcluster.dev/v1alpha1/namespaces/team-a/slurmclusters", r.URL.Path)
		assert.Equal(t, []string{"All"}, r.URL.Query()["dryRun"])
		w.Header().Set("Content-Type", "application/json")
		_, err := fmt.Fprint(w, `{"apiVersion": "slurmcluster.dev/v1alpha1", "kind": "SlurmCluster", "metadata": {"name": "demo"}}`)
		assert.NoError(t, err)
	})
	got, err := clusters.Create(t.Context(), &v1alpha1.SlurmCluster{}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	assert.Equal(t, "demo", got.Name)
}

func TestErrors(t *testing.T) {
	missing := clustersOf(t, http.NotFound)
	_, err := GetCluster(t.Context(), missing, "team-a", "demo")
	require.EqualError(t, err, "the SlurmCluster operator is not installed in this Kubernetes; install it with: kubectl slurmcluster install")

	empty := clustersOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, err := fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "x"}`)
		assert.NoError(t, err)
	})
	_, err = GetCluster(t.Context(), empty, "team-a", "demo")
	require.ErrorIs(t, err, ErrNotFound)
	assert.EqualError(t, err, `there is no SlurmCluster "demo" in namespace "team-a"; see: kubectl slurmcluster list -A`)
}

//go:build e2e

package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestPluginRefuses: what is wrong on the command line is said there, and nothing is made.
func TestPluginRefuses(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	for line, words := range map[string]string{
		"Demo":                          "must start with a lower-case letter",
		"de.mo":                         "only lower-case letters, digits and '-'",
		"demo --cpus 100m":              "it must be at least 1, because Slurm gives jobs whole CPUs",
		"demo --memory 0":               "at least 128Mi",
		"demo --nodes -1":               "the least and the most, such as 0-10",
		"demo --nodes 5001":             "a cluster has 0 to 5000 nodes",
		"demo --node-set all":           "is taken; choose another name",
		"demo --config SlurmUser=root":  "the operator sets this parameter itself",
		"demo --config a":               "write KEY=VALUE",
		"demo --volume data:/etc/slurm": "where the system or Slurm keeps its own files",
		"demo --nodes 1 --nodes 2":      "given twice",
		"demo --image ''":               "is not an image",
		"demo other":                    "give one name",
		strings.Repeat("a", 41) + " --dry-run=server": "more than 40 characters",
	} {
		_, err := e.TryKubectl(nil, append([]string{"create", "slurmcluster"}, strings.Fields(line)...)...)
		require.ErrorContains(t, err, words, line)
	}
	require.Empty(t, e.Kubectl("get", "slurmclusters", "--output=name"))
}

// TestPluginDryRun: what the plugin writes is what the API server takes, and nothing is made.
func TestPluginDryRun(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	flags := []string{"create", "slurmcluster", "demo", "--nodes=2", "--config=SchedulerParameters=bf_interval=5",
		"--volume=home:/home/user", "--storage=1Gi", "--features=a,b", "--output=yaml"}
	manifest := e.Kubectl(append(flags, "--dry-run=client")...)
	require.Contains(t, manifest, "kind: SlurmCluster")
	said, err := e.TryKubectl(strings.NewReader(manifest), "create", "--dry-run=server", "--filename=-")
	require.NoError(t, err)
	require.Contains(t, said, "demo created (server dry run)")
	require.Contains(t, e.Kubectl(append(flags, "--dry-run=server")...), "tenancy: SingleUser")
	require.Empty(t, e.Kubectl("get", "slurmclusters", "--output=name"))
}

// TestPluginWithoutCluster: commands about a cluster that is not there say so.
func TestPluginWithoutCluster(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	for _, line := range []string{
		"status demo", "logs demo 1", "srun demo hostname", "sbatch demo --wrap true", "delete demo", "nodes demo", "jobs demo",
		"describe-node demo cpu-0", "salloc demo true", "scale demo 1", "extend demo 1h", "suspend demo", "resume demo", "cp demo:a .", "cp . demo:a",
	} {
		_, err := e.TryKubectl(nil, append([]string{"slurmcluster"}, strings.Fields(line)...)...)
		require.ErrorContains(t, err, `there is no SlurmCluster "demo" in namespace "`+e.Namespace+`"`, line)
	}
	_, err := e.TryKubectl(nil, "slurmcluster", "delete", "demo", "--ignore-not-found")
	require.NoError(t, err)
}

package slurmconf

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The CRD's rule lists the owned parameters in one line of CEL; it must be the same list as ours.
func TestSchemaRefusesOwnedKeys(t *testing.T) {
	source, err := os.ReadFile("../../../api/v1alpha1/slurmcluster_types.go")
	require.NoError(t, err)
	list := regexp.MustCompile(`k\.lowerAscii\(\) in \[([^]]*)\]`).FindSubmatch(source)
	require.NotNil(t, list, "the rule about owned keys has gone from the schema")
	schema := strings.Split(strings.ReplaceAll(string(list[1]), "'", ""), ",")
	var want []string
	for _, k := range OwnedKeys() {
		want = append(want, strings.ToLower(k))
	}
	slices.Sort(want)
	assert.Equal(t, want, schema)
}

// TestReference keeps docs/reference/slurm-conf.md as the code is; -update writes it.
func TestReference(t *testing.T) {
	const file = "../../../docs/reference/slurm-conf.md"
	var b strings.Builder
	b.WriteString("# slurm.conf in a SlurmCluster\n\n" +
		"Generated; do not edit. `spec.config` takes any parameter of slurm.conf that is not listed under\n" +
		"\"owned\", as one line of text. A parameter that the installed version of Slurm does not know is\n" +
		"refused in the cluster's condition, and slurmctld keeps its last good configuration.\n\n" +
		"## Defaults that `spec.config` may change\n\n| parameter | value |\n| --- | --- |\n")
	for _, p := range defaults {
		b.WriteString("| " + p.key + " | `" + p.value + "` |\n")
	}
	b.WriteString("\n## Lists to which `spec.config` adds\n\n| parameter | begins with |\n| --- | --- |\n")
	for _, p := range joined {
		b.WriteString("| " + p.key + " | `" + p.value + "` |\n")
	}
	b.WriteString("\nUnless SlurmctldParameters says it, slurmctld answers requests with twice as many threads (`conmgr_threads`) as its\n" +
		"container is granted CPUs, at least 4 and at most 16.\n")
	b.WriteString("\n## Owned by the operator\n\n")
	for _, k := range OwnedKeys() {
		b.WriteString("- " + k + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(have), "run make generate")
}

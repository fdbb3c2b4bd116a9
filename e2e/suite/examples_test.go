//go:build e2e

package suite

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// longExamples are run when EXAMPLES=all only (make examples): they take long, or an image that nothing else needs.
var longExamples = map[string]bool{"bag": true, "molecules": true}

// TestExamples types each command of the examples, in its directory, and sees what it prints there.
func TestExamples(t *testing.T) {
	t.Parallel()
	all := os.Getenv("EXAMPLES") == "all"
	readmes, err := filepath.Glob("../../examples/*/README.md")
	require.NoError(t, err)
	require.Greater(t, len(readmes), 6)
	for _, image := range harness.Images(t) {
		t.Run(path.Base(image), func(t *testing.T) {
			t.Parallel()
			e := harness.New(t)
			tenant(e)
			environment := append(os.Environ(), "KUBECONFIG="+accountKubeconfig(e, "tenant", t.TempDir()), "IMAGE="+userImage(t, "user"))
			if all {
				environment = append(environment, "LAMMPS="+userImage(t, "lammps"))
			}
			typeAll := func(t *testing.T, readme string) {
				text, err := os.ReadFile(readme)
				require.NoError(t, err)
				steps := consoleSteps(string(text))
				require.NotEmpty(t, steps, readme)
				for _, step := range steps {
					if strings.HasPrefix(step.command, "kubectl create slurmcluster ") {
						// People get the image that their operator was installed with.
						step.command += " --image " + image
					}
					require.NoError(t, step.try(e.Ctx, filepath.Dir(readme), environment), readme)
				}
			}
			typeAll(t, "../../examples/README.md")
			for _, readme := range readmes {
				name := filepath.Base(filepath.Dir(readme))
				t.Run(name, func(t *testing.T) {
					if longExamples[name] && !all {
						t.Skip("EXAMPLES=all runs it")
					}
					typeAll(t, readme)
				})
			}
		})
	}
}

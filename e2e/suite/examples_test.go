//go:build e2e

package suite

import (
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// longExamples are run when EXAMPLES=all only (make examples).
var longExamples = map[string]bool{"bag": true}

// TestExamples types each command of the examples, in its directory, and sees what it prints there.
func TestExamples(t *testing.T) {
	t.Parallel()
	readmes, err := filepath.Glob("../../examples/*/README.md")
	require.NoError(t, err)
	require.Greater(t, len(readmes), 5)
	for _, image := range harness.Images(t) {
		t.Run(path.Base(image), func(t *testing.T) {
			t.Parallel()
			e := harness.New(t)
			tenant(e)
			environment := append(os.Environ(), "KUBECONFIG="+accountKubeconfig(e, "tenant", t.TempDir()), "IMAGE="+userImage(t, "user"))
			for i, readme := range append([]string{"../../examples/README.md"}, readmes...) {
				dir := filepath.Dir(readme)
				if longExamples[filepath.Base(dir)] && os.Getenv("EXAMPLES") != "all" {
					continue
				}
				text, err := os.ReadFile(readme)
				require.NoError(t, err)
				steps := consoleSteps(string(text))
				require.NotEmpty(t, steps, readme)
				if i == 0 {
					// People get the image that their operator was installed with.
					steps[0].command += " --image " + image
				}
				for _, step := range steps {
					require.NoError(t, step.try(e.Ctx, dir, environment), readme)
				}
			}
		})
	}
}

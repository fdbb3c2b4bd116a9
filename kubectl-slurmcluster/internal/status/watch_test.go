package status

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
)

// watch runs the command for at most so long.
func watch(t *testing.T, w *clitest.World, limit time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := Command(w.Env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"demo", "--watch"}, args...))
	return cmd.ExecuteContext(ctx)
}

func TestWatch(t *testing.T) {
	for format, want := range map[string]string{"": "demo in namespace", "yaml": "namespace: team-a", "json": `"namespace": "team-a"`} {
		synctest.Test(t, func(t *testing.T) {
			w := world(t, squeue(1))
			require.NoError(t, watch(t, w, 5*time.Second, "-o", format))
			assert.Equal(t, 3, strings.Count(w.Out.String(), want), "at 0, 2 and 4 seconds")
			separators := 2
			if format == "json" {
				separators = 0
			}
			assert.Equal(t, separators, strings.Count(w.Out.String(), "\n---\n"))
			assert.NotContains(t, w.Out.String(), "\x1b")
		})
	}
}

func TestWatchUntilDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world(t, squeue(1))
		go func() {
			time.Sleep(time.Second)
			assert.NoError(t, w.Tracker.Delete(v1alpha1.SchemeGroupVersion.WithResource(cli.Resource), clitest.Namespace, "demo"))
		}()
		require.ErrorIs(t, watch(t, w, time.Minute), cli.ErrNotFound)
		assert.Equal(t, 1, strings.Count(w.Out.String(), "demo in namespace"))
	})
}

func TestRedraw(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, redraw(&out, true, 0, "one\ntwo\n"))
	assert.Equal(t, "\x1b[2J\x1b[Hone\x1b[K\ntwo\x1b[K\n\x1b[J", out.String())
	out.Reset()
	require.NoError(t, redraw(&out, false, 4, "one\ntwo\nthree\n"))
	assert.Equal(t, "\x1b[Hone\x1b[K\ntwo\x1b[K\nthree\x1b[K\n\x1b[J", out.String())
	out.Reset()
	require.NoError(t, redraw(&out, false, 3, "one\ntwo\nthree\n"))
	assert.Equal(t, "\x1b[Hone\x1b[K\n... the terminal has no room for more\x1b[K\n\x1b[J", out.String())
}

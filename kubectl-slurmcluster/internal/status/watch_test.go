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
	"k8s.io/kubectl/pkg/util/term"

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
	for name, test := range map[string]struct {
		first      bool
		size       term.TerminalSize
		text, want string
	}{
		"first":     {true, term.TerminalSize{}, "one\ntwo\n", "\x1b[2J\x1b[H\x1b[Kone\n\x1b[Ktwo\n\x1b[J"},
		"next":      {false, term.TerminalSize{Height: 4, Width: 80}, "one\ntwo\nthree\n", "\x1b[H\x1b[Kone\n\x1b[Ktwo\n\x1b[Kthree\n\x1b[J"},
		"too many":  {false, term.TerminalSize{Height: 3, Width: 80}, "one\ntwo\nthree\n", "\x1b[H\x1b[Kone\n\x1b[K... the terminal has no room for more\n\x1b[J"},
		"too wide":  {false, term.TerminalSize{Height: 3, Width: 8}, "123456789\n", "\x1b[H\x1b[K12345...\n\x1b[J"},
		"just wide": {false, term.TerminalSize{Height: 3, Width: 9}, "123456789\n", "\x1b[H\x1b[K123456789\n\x1b[J"},
	} {
		var out bytes.Buffer
		require.NoError(t, redraw(&out, test.first, test.size, test.text))
		assert.Equal(t, test.want, out.String(), name)
	}
}

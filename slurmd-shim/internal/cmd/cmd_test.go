package cmd

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// TestSlurmdInputs: a wrong input ends slurmd's entrypoint before it touches anything, and is its last words.
func TestSlurmdInputs(t *testing.T) {
	for name, c := range map[string]struct{ controller, features, want string }{
		"no controller": {"", "", contract.EnvController + " is not set"},
		"no port":       {"10.0.0.1", "", contract.EnvController + ` is "10.0.0.1"`},
		"bad feature":   {"10.0.0.1:6817", "a b", contract.EnvNodeFeatures + ` is "a b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(contract.EnvController, c.controller)
			t.Setenv(contract.EnvNodeFeatures, c.features)
			var last string
			root := New("", slog.New(slog.DiscardHandler), func(text string) { last = text })
			root.SetArgs([]string{"slurmd", "--round-up"})
			err := root.ExecuteContext(t.Context())
			require.ErrorContains(t, err, c.want)
			require.Equal(t, contract.ExitConfig, exit.Code(err))
			require.Equal(t, err.Error(), last)
		})
	}
}

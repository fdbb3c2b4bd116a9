package exit

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

func TestCode(t *testing.T) {
	require.Equal(t, 0, Code(nil))
	require.Equal(t, 1, Code(errors.New("x")))
	cause := errors.New("cause")
	err := fmt.Errorf("while starting: %w", Configf("bad %q: %w", "input", cause))
	require.Equal(t, contract.ExitConfig, Code(err))
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, `while starting: bad "input": cause`)
}

func TestOfChild(t *testing.T) {
	require.Equal(t, 0, OfChild(nil))
	require.Equal(t, 1, OfChild(errors.New("never started")))
	for script, want := range map[string]int{"exit 7": 7, "kill -9 $$": Signal(syscall.SIGKILL), "kill -15 $$": 143} {
		require.Equal(t, want, OfChild(exec.Command("sh", "-c", script).Run()), script)
	}
}

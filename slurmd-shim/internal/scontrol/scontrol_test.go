package scontrol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNode(t *testing.T) {
	script := filepath.Join(t.TempDir(), "scontrol")
	write := func(text string) { require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+text), 0o700)) }
	s := Node{Command: script, Name: "cpu-0"}
	for state, busy := range map[string]bool{
		"IDLE+DYNAMIC_NORM": false, "IDLE*+DRAIN": false, "DOWN+DRAIN": false, "MIXED": true, "ALLOCATED+DRAIN": true, "IDLE+COMPLETING": true, "UNKNOWN": true,
	} {
		write("echo 'NodeName='$4 'CPUTot=2 RealMemory=480 State=" + state + " Reason=CPUTot=9 State=IDLE'")
		known, err := s.Show(t.Context())
		require.NoError(t, err)
		draining := strings.Contains(state, "DRAIN")
		require.Equal(t, Known{CPUs: 2, RealMemoryMB: 480, Busy: busy, Draining: draining}, known, state)
	}
	write("echo Node cpu-0 not found; exit 1")
	_, err := s.Show(t.Context())
	require.ErrorIs(t, err, ErrGone)
	write("echo slurm_update error: Invalid node name specified >&2; exit 1")
	require.ErrorIs(t, s.Say(t.Context(), "x"), ErrGone)
	write("echo Unable to contact slurm controller >&2; exit 1")
	_, err = s.Show(t.Context())
	require.ErrorContains(t, err, "scontrol show: exit status 1: Unable to contact slurm controller")
	write("echo NodeName=cpu-0")
	_, err = s.Show(t.Context())
	require.ErrorContains(t, err, "scontrol shows no CPUTot, RealMemory and State: NodeName=cpu-0")
	write(`test "$1 $2 $3" = "update NodeName=cpu-0 Extra=a b"`)
	require.NoError(t, s.Say(t.Context(), "a b"))
	write(`test "$1 $2 $3 $4" = "update NodeName=cpu-0 State=DRAIN Reason=a b"`)
	require.NoError(t, s.Drain(t.Context(), "a b"))
}

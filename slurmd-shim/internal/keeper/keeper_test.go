package keeper

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// newKeeper has a script for munged that writes down its key, and then does what the rest says.
func newKeeper(t *testing.T, rest string) (k Keeper, seen func() []string, write func(key byte)) {
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do case $a in --key-file=*) key=${a#*=};; esac; done\n" +
		"head -c 1 $key >> " + dir + "/seen\necho >> " + dir + "/seen\n" + rest
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "munged"), []byte(script), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	key := filepath.Join(dir, "keys", "munge.key")
	require.NoError(t, os.MkdirAll(filepath.Dir(key), 0o700))
	write = func(b byte) { require.NoError(t, launch.WriteFile(key, bytes.Repeat([]byte{b}, 32), 0o600)) }
	write('a')
	k = Keeper{
		Munged:    launch.Munged{Key: key, Socket: filepath.Join(dir, "run", "s"), Private: []string{dir}},
		PollEvery: time.Hour, Log: slog.New(slog.DiscardHandler),
	}
	seen = func() []string {
		text, err := os.ReadFile(filepath.Join(dir, "seen"))
		if err != nil {
			return nil
		}
		return strings.Fields(string(text))
	}
	return k, seen, write
}

func TestKeeper(t *testing.T) {
	k, seen, write := newKeeper(t, "exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	sees := func(want ...string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Join(seen(), "") == strings.Join(want, "") }, 10*time.Second, 5*time.Millisecond)
	}
	sees("a")
	write('b')
	sees("a", "b")
	require.NoError(t, os.WriteFile(k.Munged.Key, []byte("short"), 0o600))
	time.Sleep(500 * time.Millisecond)
	sees("a", "b")
	require.Empty(t, done, "a key that cannot be used changes nothing")
	write('c')
	sees("a", "b", "c")
	cancel()
	require.Equal(t, 143, exit.Code(<-done))
}

func TestKeeperEndsWithMunged(t *testing.T) {
	k, _, _ := newKeeper(t, "exit 7")
	err := k.Run(t.Context())
	var status *exit.Error
	require.True(t, errors.As(err, &status))
	require.Equal(t, 7, status.Code)
	k, _, _ = newKeeper(t, "exit 0")
	require.NoError(t, k.Run(t.Context()))
}

// Package cli is the localkube command line.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cluster"
)

// settings are the global flags.
type settings struct{ state, run, cache, source string }

func (s *settings) cluster() cluster.Cluster { return cluster.Open(s.state, s.run) }

// Main runs the command line and returns the exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	// A command that we only pass on has said itself what went wrong.
	if passed := (*exec.ExitError)(nil); errors.As(err, &passed) && passed.ExitCode() > 0 {
		return passed.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "localkube:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	s := &settings{}
	root := &cobra.Command{
		Use:               "localkube",
		Short:             "A real single-node Kubernetes in namespaces of its own",
		SilenceUsage:      true,
		TraverseChildren:  true, // our own flags may come before "kubectl" and "enter"
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return checkHost() },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.state, "state-dir", env("LOCALKUBE_STATE_DIR", "/var/lib/localkube"), "directory of the cluster's data and logs")
	flags.StringVar(&s.run, "run-dir", env("LOCALKUBE_RUN_DIR", "/run/localkube"), "directory of sockets; keep it short")
	flags.StringVar(&s.cache, "cache-dir", env("LOCALKUBE_CACHE_DIR", defaultCache()), "directory of built programs")
	flags.StringVar(&s.source, "source-dir", env("LOCALKUBE_SOURCE_DIR", ownSource()), "directory of localkube's go.mod")
	root.AddCommand(
		newUp(s), newDown(s), newStatus(s), newLoad(s), newKubeconfig(s), newEnv(s), newKubectl(s), newEnter(s),
		newStop(s), newStart(s), newInit(s), newNetworkPolicy(),
	)
	return root
}

func checkHost() error {
	if runtime.GOOS != "linux" {
		return errors.New("localkube runs on Linux only, since Kubernetes nodes do")
	}
	if os.Geteuid() != 0 {
		return errors.New("localkube must run as root, since it makes namespaces, interfaces and cgroups: use sudo")
	}
	return nil
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func defaultCache() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = "/var/cache"
	}
	return filepath.Join(base, "slurmcluster", "localkube")
}

// ownSource is where this program was compiled from.
func ownSource() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) { // built with -trimpath
		return "."
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

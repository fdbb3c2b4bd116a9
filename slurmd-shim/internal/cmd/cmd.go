// Package cmd holds the commands of slurmd-shim.
package cmd

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// app is what the commands share.
type app struct {
	log *slog.Logger
	// lastWords leaves a message for whoever asks why the container ended.
	lastWords func(string)
}

// New returns the root command.
func New(version string, log *slog.Logger, lastWords func(string)) *cobra.Command {
	a := &app{log: log, lastWords: lastWords}
	root := &cobra.Command{
		Use:           "slurmd-shim",
		Short:         "Entrypoint of the containers of a Slurm cluster in Kubernetes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Configf("%w", err) })
	root.AddCommand(a.slurmd(), a.drain(), a.follow(), a.power(), a.prolog(), a.munged(), a.slurmctld(), a.slurmrestd(), inspect(),
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), version) },
		})
	return root
}

// daemon wraps a command that becomes or runs a daemon: an error is also its last words.
func (a *app) daemon(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err != nil {
			a.lastWords(err.Error())
		}
		return err
	}
}

// hostname is the name of the node and of the pod.
func hostname() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the name of this node: %w", err)
	}
	return host, nil
}

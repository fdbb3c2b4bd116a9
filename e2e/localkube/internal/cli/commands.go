package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cluster"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/enforcer"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/node"
)

func newDown(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster and everything it left on this host, except the build cache",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			began := time.Now()
			if err := s.cluster().Down(command.Context()); err != nil {
				return err
			}
			fmt.Printf("localkube is down after %s\n", elapsed(began))
			return nil
		},
	}
}

func newLoad(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar...",
		Short: "Load docker or OCI image archives into the cluster",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, archives []string) error {
			c := s.cluster()
			for _, archive := range archives {
				began := time.Now()
				loaded, err := c.Load(command.Context(), archive)
				if err != nil {
					return err
				}
				verdict := "already there"
				if loaded {
					verdict = "loaded"
				}
				fmt.Printf("%s: %s (%s)\n", archive, verdict, elapsed(began))
			}
			return nil
		},
	}
}

func newKubeconfig(s *settings) *cobra.Command {
	var raw bool
	command := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path := s.cluster().Paths.AdminKubeconfig()
			if !raw {
				fmt.Println(path)
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("%w (%w)", cluster.ErrNotRunning, err)
			}
			_, err = os.Stdout.Write(data)
			return err
		},
	}
	command.Flags().BoolVar(&raw, "raw", false, "print the file itself")
	return command
}

func newEnv(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print shell commands that put kubectl and KUBECONFIG in place",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			paths := s.cluster().Paths
			if paths.Bin == "" {
				return cluster.ErrNotRunning
			}
			fmt.Printf("export KUBECONFIG=%s\nexport PATH=%s:$PATH\n", paths.AdminKubeconfig(), paths.Bin)
			return nil
		},
	}
}

func newKubectl(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl ARGS...",
		Short:              "Run kubectl, with its plugins on PATH, against the cluster",
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			paths := s.cluster().Paths
			if paths.Bin == "" {
				return cluster.ErrNotRunning
			}
			kubectl := exec.CommandContext(command.Context(), paths.Binary("kubectl"), args...)
			kubectl.Env = append(os.Environ(), "KUBECONFIG="+paths.AdminKubeconfig())
			return attach(kubectl).Run()
		},
	}
}

func newEnter(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:                "enter COMMAND ARGS...",
		Short:              "Run a command inside the cluster's namespaces (a shell by default)",
		Example:            "  localkube enter ctr containers list\n  localkube enter iptables-save -t nat",
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"/bin/sh"}
			}
			inside, err := s.cluster().Enter(command.Context(), args...)
			if err != nil {
				return err
			}
			return attach(inside).Run()
		},
	}
}

func attach(command *exec.Cmd) *exec.Cmd {
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command
}

func newStop(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "stop COMPONENT",
		Short: "Kill a component and keep it down, to see what happens",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return s.cluster().Control().Stop(command.Context(), args[0])
		},
	}
}

func newStart(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "start COMPONENT",
		Short: "Start a component that was stopped",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return s.cluster().Control().Start(command.Context(), args[0])
		},
	}
}

// newInit is pid 1 of the cluster. Its life does not end with a signal: only
// the kernel may end it, and with it everything else.
func newInit(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:    cluster.InitCommand,
		Short:  "Be pid 1 of the cluster (internal)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := node.Run(context.Background(), s.state); err != nil {
				return fmt.Errorf("starting the cluster: %s", strings.TrimSpace(err.Error()))
			}
			return nil
		},
	}
}

// newNetworkPolicy is the component of that name; it runs within the cluster.
func newNetworkPolicy() *cobra.Command {
	var options enforcer.Options
	command := &cobra.Command{
		Use:    components.NetworkPolicy,
		Short:  "Enforce NetworkPolicies in this network namespace (internal)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return enforcer.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&options.Sandboxes, "sandboxes", layout.CNIResults, "directory of what libcni notes of pods")
	flags.StringVar(&options.Listen, "listen", "", "address that answers /healthz")
	return command
}

// Package slurmcmd hands srun, salloc, squeue and their like on to a cluster, with all their arguments.
package slurmcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

const flagsBeforeName = `Flags of this plugin, such as --namespace, go before NAME; everything after NAME belongs to %s. There, -n does not mean the namespace.`

// Command returns the command that runs a command of Slurm in the controller pod.
func Command(env *cli.Env, name, short, example string) *cobra.Command {
	cmd := &cobra.Command{
		Use:               name + " [flags] NAME [" + strings.ToUpper(name) + " ARGUMENTS]",
		Short:             short,
		Long:              short + ".\n\n" + fmt.Sprintf(flagsBeforeName, name),
		Example:           example,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := pods.Open(env, args[0])
			if err != nil {
				return err
			}
			command := append([]string{name}, args[1:]...)
			if wantsTerminal(env, name, args[1:]) {
				return interactive(cmd.Context(), env, cluster, cluster.Controller(), command)
			}
			return cluster.Session(cmd.Context(), command, streams(env, name))
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// streams leaves standard input to those who read it: in a shell's "while read" loop, squeue must not eat it.
func streams(env *cli.Env, name string) genericiooptions.IOStreams {
	io := env.IOStreams
	if name != srun && name != salloc {
		io.In = nil
	}
	return io
}

const (
	srun   = "srun"
	salloc = "salloc"
)

// wantsTerminal says whether a command talks with a person. What salloc prints into a file or a pipe is left as it is,
// which a terminal would not do.
func wantsTerminal(env *cli.Env, name string, args []string) bool {
	switch name {
	case srun:
		return slices.ContainsFunc(args, func(arg string) bool { return arg == "--pty" || strings.HasPrefix(arg, "--pty=") })
	case salloc:
		return printers.IsTerminal(env.Out)
	}
	return false
}

// interactive runs a command that has the person's terminal, and says first when the cluster ends.
func interactive(ctx context.Context, env *cli.Env, cluster *pods.Cluster, target podexec.Target, command []string) error {
	if notice := cluster.Notice(ctx); notice != "" {
		if _, err := fmt.Fprintln(env.ErrOut, notice); err != nil {
			return err
		}
	}
	return cluster.Terminal(ctx, target, command, env.IOStreams)
}

// shell opens a login shell where Slurm is a part of the image, and the image's own shell beside Slurm where it is not: there, a login
// would set another PATH than the image has.
const shell = `command -v srun >/dev/null && exec bash -l
PATH="$PATH:` + contract.BundlePrograms + `"
command -v bash >/dev/null && exec bash
exec sh`

// Shell returns the command that opens a shell.
func Shell(env *cli.Env) *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:   "shell NAME [--node NODE]",
		Short: "Open a shell where a cluster's commands work",
		Long:  "Open a shell in the controller pod, or in the pod of a node, where sbatch, srun and squeue work.",
		Example: `  kubectl slurmcluster shell demo
  kubectl slurmcluster shell demo --node cpu-0`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := pods.Open(env, args[0])
			if err != nil {
				return err
			}
			target := cluster.Controller()
			if node != "" {
				if target, err = cluster.Node(cmd.Context(), node); err != nil {
					return err
				}
			}
			return interactive(cmd.Context(), env, cluster, target, []string{"sh", "-c", shell})
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "the Slurm `NODE` to open the shell on; default: the controller pod")
	cli.CompleteFlag(cmd, "node", env.CompleteNode)
	return cmd
}

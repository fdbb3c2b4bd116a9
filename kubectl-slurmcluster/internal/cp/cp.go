// Package cp copies files and directories between this machine and a cluster. There is tar on both ends; a copy is made
// under another name, beside its place, and moved there when all of it has come.
package cp

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// copier copies from one place to another.
type copier struct {
	env      *cli.Env
	cluster  *pods.Cluster
	target   podexec.Target
	from, to place
	// home is where relative paths in the cluster begin.
	home string
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:   "cp SOURCE DESTINATION [flags]",
		Short: "Copy files and directories to and from a cluster",
		Long: `Copy a file or a directory to a cluster or from it. One of the two is NAME:PATH;
a relative PATH begins at the home directory. As with cp -r, a directory that
exists takes the copy under its own name; SOURCE/. copies what is in a
directory.

Without --node, files go to and come from the controller pod. That is the right
one for volumes that all pods share; what a job has written to its node's own
disk is on that node.`,
		Example: `  kubectl slurmcluster cp ./data demo:data
  kubectl slurmcluster cp demo:out.txt .
  kubectl slurmcluster cp demo:/tmp/trace . --node cpu-0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("give a source and a destination, such as: kubectl slurmcluster cp ./data demo:data")
			}
			return nil
		},
		ValidArgsFunction: completePlace(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := places(args)
			if err != nil {
				return err
			}
			// Whoever interrupts must not leave half a copy behind.
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			c := &copier{env: env, from: from, to: to, home: contract.HomeDir}
			return c.run(ctx, node)
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "the Slurm `NODE` whose files are meant; default: the controller pod")
	cli.CompleteFlag(cmd, "node", completeNode(env))
	return cmd
}

func (c *copier) run(ctx context.Context, node string) error {
	name := c.from.cluster + c.to.cluster // one of them is empty
	var err error
	if c.cluster, err = pods.Open(c.env, name); err != nil {
		return err
	}
	c.target = c.cluster.Controller()
	if node != "" {
		if c.target, err = c.cluster.Node(ctx, node); err != nil {
			return err
		}
	}
	if c.to.remote() {
		err = c.upload(ctx)
	} else {
		err = c.download(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("copying %s to %s: %w", c.from, c.to, err)
	}
	return nil
}

// completePlace completes with the names of clusters and a colon, or with files of this machine.
func completePlace(env *cli.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := env.CompleteNames(cmd, nil, "")
		var found []cobra.Completion
		for _, name := range names {
			if candidate := name + ":"; strings.HasPrefix(candidate, toComplete) {
				found = append(found, candidate)
			}
		}
		if len(found) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return found, cobra.ShellCompDirectiveNoSpace
	}
}

// completeNode completes with the nodes of the cluster that one of the two arguments names.
func completeNode(env *cli.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		for _, arg := range args {
			if p := placeOf(arg); p.remote() {
				return env.CompleteNode(cmd, []string{p.cluster}, toComplete)
			}
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
)

// epilog has nothing to do. Without any, slurmd answers the end of a job with its being over already, upon which slurmctld looks for
// the next job at its next full second only: jobs of a few milliseconds went through at one a second for each CPU.
const epilog = "/usr/bin/true"

func (a *app) slurmd() *cobra.Command {
	var o nodeconf.Options
	var sack launch.Sack
	var cloud, bundled bool
	c := &cobra.Command{
		Use:   "slurmd [flags] [-- slurmd arguments]",
		Short: "Tell slurmd what this container may use, wait for slurmctld and become slurmd",
		Long: "Reads CPU quota, cpuset and memory limit and the machine's shape, and registers a dynamic node with them.\n" +
			"Reads " + contract.EnvController + " (host:port of slurmctld) and " + contract.EnvNodeFeatures + " (comma-separated).",
		RunE: a.daemon(func(c *cobra.Command, extra []string) error { return a.runSlurmd(c, o, sack, cloud, bundled, extra) }),
	}
	nodeFlags(c, &o)
	sackFlag(c, &sack)
	c.Flags().BoolVar(&cloud, "cloud", false, "Slurm knows the node already and powers it up")
	c.Flags().BoolVar(&bundled, "bundled", false, "this image is a user's own: Slurm is in "+contract.BundleDir)
	return c
}

func (a *app) runSlurmd(c *cobra.Command, o nodeconf.Options, sack launch.Sack, cloud, bundled bool, extra []string) error {
	found, err := look(limits.Options{Root: "/"}, o)
	if err != nil {
		return err
	}
	host, err := hostname()
	if err != nil {
		return err
	}
	s := slurmdOf(host, found.Node)
	s.Extra, s.Cloud = extra, cloud
	inNodeConf := []string{"Epilog=" + epilog}
	prolog := launch.OnThisKernel()
	if bundled {
		arguments, err := launch.Bundled(sack)
		if err != nil {
			return unusable(err)
		}
		s.Extra = slices.Concat(arguments, extra)
		prolog.Image = os.Environ()
		inNodeConf = []string{"Epilog=" + contract.BundlePrograms + "/" + filepath.Base(epilog)}
	}
	if prolog.Needed() {
		if err := prolog.Write(contract.TaskProlog); err != nil {
			return err
		}
		inNodeConf = append(inNodeConf, "TaskProlog="+contract.TaskProlog)
	}
	argv, err := s.Args()
	if err != nil {
		return err
	}
	a.log.Info("node", "name", host, "limits", found.Limits, "machine", found.Machine, "node", found.Node, "warnings", found.Warnings)
	spool := filepath.Join(contract.SpoolDir, host)
	if err := launch.Spool(spool); err != nil {
		return err
	}
	if err := launch.NodeConf(contract.NodeConf, o.Bind, inNodeConf...); err != nil {
		return err
	}
	if err := launch.GresConf(contract.GresConf, found.Node.GresConf); err != nil {
		return err
	}
	if err := launch.LinkConf(spool, filepath.Join(contract.RunDir, "conf")); err != nil {
		return err
	}
	if err := sack.Ready(c.Context(), a.log, contract.MungeSocket); err != nil {
		return err
	}
	if err := launch.WaitFor(c.Context(), a.log, "slurmctld", "tcp", s.Controller); err != nil {
		return err
	}
	if err := launch.SlurmdProgram.Prepare(); err != nil {
		return err
	}
	hash, err := sack.Hash()
	if err != nil {
		return err
	}
	if err := startFollower(followed{found.Node, o, sack, hash}); err != nil {
		return err
	}
	return launch.SlurmdProgram.Become(argv, launch.Env(slices.Concat(sack.Env(), launch.ForPMIx(), []string{launch.OneArena, launch.NoHwlocPlugins})...))
}

func slurmdOf(host string, n nodeconf.Node) launch.Slurmd {
	return launch.Slurmd{
		Controller: os.Getenv(contract.EnvController), Host: host, Features: os.Getenv(contract.EnvNodeFeatures), Node: n,
	}
}

// look reads limits and machine and derives the node.
func look(where limits.Options, o nodeconf.Options) (report, error) {
	l, err := limits.Read(where)
	if err != nil {
		return report{}, unusable(fmt.Errorf("reading the limits: %w", err))
	}
	m, err := machine.Read(where.Root)
	if err != nil {
		return report{}, unusable(fmt.Errorf("reading the machine: %w", err))
	}
	if o.Gres, err = findFiles(where.Root, o.Gres); err != nil {
		return report{}, unusable(err)
	}
	n, warnings, err := nodeconf.Derive(l, m, o)
	if err != nil {
		return report{}, unusable(err)
	}
	return newReport(l, m, n, warnings), nil
}

func unusable(err error) error { return &exit.Error{Code: contract.ExitUnusable, Err: err} }

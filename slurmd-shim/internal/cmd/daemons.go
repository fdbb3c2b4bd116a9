package cmd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/agent"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/keeper"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/terminals"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/watch"
)

// dataParser is the only version that every supported Slurm serves: 24.11 has v0.0.40 to 42, 26.05 has
// v0.0.42 to 45.
const dataParser = "v0.0.42"

func (a *app) munged() *cobra.Command {
	return &cobra.Command{
		Use: "munged", Args: cobra.NoArgs,
		Short: "Copy the key, make the socket's directory and run munged; start it anew when the key changes",
		RunE: a.daemon(func(c *cobra.Command, _ []string) error {
			stayLean(c.Context())
			return a.keepMunged(c.Context())
		}),
	}
}

// keepMunged runs munged as its parent.
func (a *app) keepMunged(ctx context.Context) error {
	return keeper.Keeper{
		Munged: launch.Munged{
			Key:     filepath.Join(contract.KeyDir, contract.KeyMunge),
			Socket:  contract.MungeSocket,
			Private: []string{contract.RunDir, os.TempDir()},
		},
		PollEvery: watch.Every,
		Log:       a.log,
	}.Run(ctx)
}

const (
	// fewestThreads and mostThreads bound the threads with which slurmctld answers requests.
	fewestThreads, mostThreads = 4, 16
)

// answeringThreads is twice the CPUs that are granted here, as Slurm counts since 25.11, which looks at the machine's CPUs and
// not at a quota. Older ones make 64 on any machine, each of which keeps 72 kB once it has answered a request; Slurm's guide for
// high throughput advises fewer, too.
func answeringThreads() int {
	return min(max(2*runtime.GOMAXPROCS(0), fewestThreads), mostThreads)
}

func (a *app) slurmctld() *cobra.Command {
	var sack launch.Sack
	c := &cobra.Command{
		Use: "slurmctld", Args: cobra.NoArgs,
		Short: "Run slurmctld and hand it every change of the mounted configuration that Slurm accepts",
		RunE: func(c *cobra.Command, _ []string) error {
			ctld := agent.Agent{
				Source:      contract.ServedConfigDir,
				RunDir:      contract.RunDir,
				ClientDir:   contract.ConfigDir,
				StateDir:    filepath.Join(contract.StateDir, "state"),
				NodeConf:    contract.NodeConf,
				GresConf:    contract.GresConf,
				JWTKey:      filepath.Join(contract.KeyDir, contract.KeyJWT),
				JWTCopy:     contract.JWTKeyPath,
				Sack:        sack,
				Munged:      a.keepMunged,
				MungeSocket: contract.MungeSocket,
				Listen:      fmt.Sprintf(":%d", contract.PortAgent),
				ReadyWait:   (contract.AgentReadyTimeout - 1) * time.Second,
				Address:     fmt.Sprintf("127.0.0.1:%d", contract.PortSlurmctld),
				Terminals:   terminals.Dir,
				Slurmctld:   []string{"slurmctld"},
				Threads:     answeringThreads(),
				Scontrol:    "scontrol",
				Sinfo:       "sinfo",
				Squeue:      "squeue",
				Links:       slices.Collect(maps.Keys(Links)),
				// Listing a host name is the least that a command of Slurm's can do after it has read
				// its configuration.
				Check:     []string{"scontrol", "show", "hostnames", "x"},
				PollEvery: watch.Every,
				Log:       a.log,
			}
			stayLean(c.Context())
			err := ctld.Run(c.Context())
			if err != nil {
				a.lastWords(ctld.LastLog() + err.Error())
			}
			return err
		},
	}
	sackFlag(c, &sack)
	return c
}

// sackFlag takes the key of auth/slurm.
func sackFlag(c *cobra.Command, sack *launch.Sack) {
	c.Flags().StringVar(&sack.Key, "sack-key", "", "`FILE` with the key of auth/slurm; default: there is a munged")
}

func (a *app) slurmrestd() *cobra.Command {
	return &cobra.Command{
		Use:   "slurmrestd [-- slurmrestd arguments]",
		Short: "Become slurmrestd, which takes JWTs on port " + fmt.Sprint(contract.PortSlurmrestd),
		RunE: a.daemon(func(c *cobra.Command, extra []string) error {
			// slurmctld's agent puts it there.
			if err := launch.WaitForFile(c.Context(), a.log, filepath.Join(contract.ConfigDir, contract.FileSlurmConf)); err != nil {
				return err
			}
			argv := []string{
				"slurmrestd", "-s", "slurmctld", "-d", dataParser, "-a", "rest_auth/jwt", "-t", "4",
			}
			argv = append(append(argv, extra...), fmt.Sprintf("0.0.0.0:%d", contract.PortSlurmrestd))
			// SLURM_JWT keeps slurmrestd from needing a munged of its own. A pod's seccomp profile does not
			// let it unshare namespaces, and the container has its own already.
			return launch.Exec(argv, launch.Env("SLURM_JWT=daemon", launch.OneArena,
				"SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files"))
		}),
	}
}

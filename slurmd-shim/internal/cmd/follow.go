package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/ask"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/follow"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/rekey"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/terminals"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/visit"
)

// followed is what the follower has to know.
type followed struct {
	// Registered is the node as slurmctld is told.
	Registered nodeconf.Node
	// Options are those that it was derived with.
	Options nodeconf.Options
	// Sack is slurmd's own authentication, and KeyHash names the key with which it is started.
	Sack    launch.Sack
	KeyHash string
}

// startFollower starts the command follow beside this process, which will be slurmd.
func startFollower(what followed) error {
	text, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("tell the follower the node: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	follower := exec.Command(self, "follow", string(text))
	follower.Stdout, follower.Stderr = os.Stdout, os.Stderr
	if err := follower.Start(); err != nil {
		return fmt.Errorf("start the follower: %w", err)
	}
	return nil
}

const (
	// garbagePercent keeps the heap of a process that stands beside a daemon small: at Go's own 100, the first 4 MB are never
	// collected, which is more than it needs.
	garbagePercent = 10
	// leanFirst is how long after its start a process gives memory back that it needed to start, and leanEvery how often it does
	// so in the end. Until leanFirst it does not collect more than Go does, because somebody waits for its start.
	leanFirst, leanEvery = 5 * time.Second, time.Minute
)

// stayLean lets a process that stands beside a daemon take little: one CPU at a time, and memory that it needed for a moment only
// goes back to the kernel.
func stayLean(ctx context.Context) {
	runtime.GOMAXPROCS(1)
	go func() {
		for pause := leanFirst; ; pause = min(2*pause, leanEvery) {
			select {
			case <-time.After(pause):
				debug.SetGCPercent(garbagePercent)
				debug.FreeOSMemory()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// slurmctldsAgent is on slurmctld's host.
func slurmctldsAgent() ask.Agent {
	host, _, _ := net.SplitHostPort(os.Getenv(contract.EnvController)) // slurmd was started with it
	return ask.At(host)
}

// follow is the process beside slurmd, its parent.
func (a *app) follow() *cobra.Command {
	return &cobra.Command{
		Use: "follow NODE", Args: cobra.ExactArgs(1), Hidden: true,
		Short: "Let the node follow its container's size and the cluster's key, and tell who has a shell here",
		RunE: func(c *cobra.Command, args []string) error {
			var what followed
			if err := json.Unmarshal([]byte(args[0]), &what); err != nil {
				return exit.Configf("the node to follow: %w", err)
			}
			f := follow.Follower{Registered: what.Registered, Log: a.log}
			host, err := hostname()
			if err != nil {
				return err
			}
			here, slurmd := limits.Options{Root: "/"}, os.Getppid()
			f.Limits = func() (limits.Limits, error) { return limits.Read(here) }
			f.Derive = func() (nodeconf.Node, error) {
				found, err := look(here, what.Options)
				return found.Node, err
			}
			f.Slurm = scontrol.Node{Command: "scontrol", Name: host}
			f.Register = func(n nodeconf.Node) error {
				conf, err := slurmdOf(host, n).Conf()
				if err == nil {
					err = launch.GresConf(contract.GresConf, n.GresConf)
				}
				if err != nil {
					return err
				}
				return launch.SlurmdProgram.Resize(slurmd, conf)
			}
			if what.Sack.Key != "" {
				keys := rekey.Rekeyer{Sack: what.Sack, Used: what.KeyHash, Agent: slurmctldsAgent(), Log: a.log,
					Restart: func() error { return launch.Restart(slurmd) }}
				go keys.Run(c.Context())
			}
			visitors := visit.Visitors{Terminals: terminals.Dir, Agent: slurmctldsAgent(), Log: a.log}
			go visitors.Run(c.Context())
			stayLean(c.Context())
			f.Run(c.Context())
			return nil
		},
	}
}

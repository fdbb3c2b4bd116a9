// Command slurmd-shim is the entrypoint of every Slurm container: it prepares what a daemon needs when it
// runs without privileges, tells slurmd what the kernel really grants, and becomes the daemon.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/cmd"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pbs"
)

// version is set by the linker: -X main.version=...
var version = "dev"

func main() {
	// Nobody asks for a profile, and its table takes a megabyte in each process that stands beside a daemon.
	runtime.MemProfileRate = 0
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(log)
	if launch.SlurmdProgram.Started(os.Args) {
		fail("slurmd-shim", launch.SlurmdProgram.Again(os.Args))
	}
	for link, command := range cmd.Links {
		if filepath.Base(os.Args[0]) == filepath.Base(link) {
			os.Args = []string{os.Args[0], command}
		}
	}
	launch.FindBundle()
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	name := "slurmd-shim"
	root := pbs.Command(filepath.Base(os.Args[0]))
	if root != nil {
		name = root.Name()
	} else {
		root = cmd.New(version, log, lastWords(log))
	}
	if err := root.ExecuteContext(ctx); err != nil {
		fail(name, err)
	}
}

func fail(name string, err error) {
	fmt.Fprintln(os.Stderr, name+":", err)
	os.Exit(exit.Code(err))
}

// lastWords returns a function that leaves a message for the kubelet, which shows it as the reason why the
// container ended. Outside of a container there is no such file, and none is made.
func lastWords(log *slog.Logger) func(string) {
	return func(text string) {
		f, err := os.OpenFile(contract.TerminationLog, os.O_WRONLY|os.O_TRUNC, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			log.Warn("leave a message for the kubelet", "error", err)
		}
	}
}

package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/network"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/pki"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/proc"
)

// InitCommand is the hidden subcommand that becomes pid 1 of the cluster.
const InitCommand = "init"

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// start starts pid 1 of a fresh cluster; it goes on without us.
func (c Cluster) start(options layout.Options) error {
	if err := c.makeDirectories(); err != nil {
		return err
	}
	if err := pki.Create(c.Paths); err != nil {
		return err
	}
	if err := options.Save(); err != nil {
		return err
	}
	program, err := c.copySelf()
	if err != nil {
		return err
	}
	gate, word, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer word.Close()
	pid, err := c.launch(program, gate)
	if err != nil {
		return err
	}
	id, err := proc.Find(pid)
	if err != nil {
		return err
	}
	if err := c.saveInit(id); err != nil {
		return err
	}
	if err := network.Attach(pid); err != nil {
		return err
	}
	if _, err := word.Write([]byte{1}); err != nil {
		return fmt.Errorf("telling the cluster's first process to go on: %w", err)
	}
	return nil
}

// launch starts the program in namespaces of its own, with the gate as its
// file descriptor 3, which closes here.
func (c Cluster) launch(program string, gate *os.File) (int, error) {
	defer gate.Close()
	log, err := os.OpenFile(c.Paths.Log(InitCommand), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("opening the log of the cluster's first process: %w", err)
	}
	defer log.Close()
	command := exec.Command(program, InitCommand, "--state-dir", c.Paths.State)
	command.Dir = "/"
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{gate}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true}
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("starting the cluster's first process in new namespaces: %w", err)
	}
	return command.Process.Pid, nil
}

// copySelf puts this program into the state directory, since the one that
// `go run` made is deleted when it ends.
func (c Cluster) copySelf() (string, error) {
	path := c.Paths.Self()
	if err := copyProgram("/proc/self/exe", path); err != nil {
		return "", fmt.Errorf("copying this program: %w", err)
	}
	return path, nil
}

func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

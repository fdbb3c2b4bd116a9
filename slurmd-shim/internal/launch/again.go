package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// scriptLauncher is slurmd's first argument when it starts itself to run a script, such as a prolog
// (run_command.h).
const scriptLauncher = "slurm_script_launcher"

// Program tells slurmd's links apart: Link is the name under which it is started, Real leads to the program.
type Program struct {
	Link, Real string
	// Conf is the file with the line to register with after the next start.
	Conf string
}

// SlurmdProgram are the links in a pod.
var SlurmdProgram = Program{Link: contract.SlurmdLink, Real: contract.SlurmdProgram, Conf: contract.SlurmdConf}

// Prepare makes the links. slurmd starts itself anew, by the name that it was started under, at every
// reconfiguration and at SIGHUP; behind that name is this program, so that it can hand slurmd other arguments.
func (p Program) Prepare() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	slurmd, err := exec.LookPath("slurmd")
	if err != nil {
		return exit.Configf("find slurmd: %w; the image must hold it", err)
	}
	for link, to := range map[string]string{p.Link: self, p.Real: slurmd} {
		if err := Link(link, to); err != nil {
			return err
		}
	}
	return nil
}

// Started tells whether slurmd has started itself and got this program.
func (p Program) Started(argv []string) bool {
	return argv[0] == p.Link || len(argv) > 1 && argv[1] == scriptLauncher
}

// Again becomes slurmd for a slurmd that has started itself. It returns only when that fails.
func (p Program) Again(argv []string) error {
	argv, err := p.arguments(argv)
	if err != nil {
		return err
	}
	return p.Become(argv, os.Environ())
}

// Become replaces this process by slurmd. It returns only when that fails.
func (p Program) Become(argv, env []string) error {
	// The kernel names a process after the file it was given: with the link's own name, nobody would find slurmd
	// in a list of processes.
	slurmd, err := os.Readlink(p.Real)
	if err != nil {
		return fmt.Errorf("find slurmd: %w", err)
	}
	return Become(slurmd, argv, env)
}

// arguments are argv with the line from the file, if there is one; slurmd keeps it from then on.
func (p Program) arguments(argv []string) ([]string, error) {
	at := slices.Index(argv, confFlag)
	if argv[0] != p.Link || at < 0 || at+1 == len(argv) {
		return argv, nil
	}
	conf, err := os.ReadFile(p.Conf)
	if errors.Is(err, fs.ErrNotExist) {
		return argv, nil
	}
	if err == nil {
		err = os.Remove(p.Conf)
	}
	if err != nil {
		return nil, fmt.Errorf("read the node's new size: %w", err)
	}
	argv = slices.Clone(argv)
	argv[at+1] = strings.TrimSpace(string(conf))
	return argv, nil
}

// Resize lets the slurmd of a process id start itself anew with another line.
func (p Program) Resize(pid int, conf string) error {
	if err := WriteFile(p.Conf, []byte(conf+"\n"), 0o600); err != nil {
		return err
	}
	return Restart(pid)
}

// Restart lets the slurmd of a process id start itself anew as it is.
func Restart(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		return fmt.Errorf("start slurmd anew: %w", err)
	}
	return nil
}

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// Become replaces this process by a program that gets argv.
func Become(program string, argv, env []string) error {
	return fmt.Errorf("become %s: %w", program, syscall.Exec(program, argv, env))
}

// Exec replaces this process by argv, found in PATH, so that the daemon is the process that gets the
// container's signals. It returns only when that fails.
func Exec(argv, env []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return exit.Configf("find %s: %w; the image must hold it", argv[0], err)
	}
	return Become(path, argv, env)
}

// OneArena lets a daemon have one heap for all of its threads: glibc's several cost an idle slurmctld two MB.
// Jobs do not get slurmd's environment.
const OneArena = "MALLOC_ARENA_MAX=1"

// NoHwlocPlugins keeps hwloc from its plugins. They look for GPUs, which the shim has found already, and their libraries cost an
// idle slurmd nearly two MB.
const NoHwlocPlugins = "HWLOC_PLUGINS_PATH=/dev/null"

// Env returns this process's environment with what Slurm needs added: each "NAME=value" whose name is not
// set yet. Slurm looks up the names of its peers and gets by without them, so that a resolver that does not
// answer may cost one second and not ten.
func Env(add ...string) []string {
	env := os.Environ()
	for _, kv := range append(add, "RES_OPTIONS=timeout:1 attempts:1") {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, kv)
		}
	}
	return env
}

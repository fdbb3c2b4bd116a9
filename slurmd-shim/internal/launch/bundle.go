package launch

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// shell is what Slurm starts batch scripts' interpreters and the task prolog with.
const shell = "/bin/sh"

// FindBundle lets Slurm's programs be found where the image has none.
func FindBundle() {
	if _, err := os.Stat(contract.BundlePrograms); err == nil {
		_ = os.Setenv("PATH", strings.TrimPrefix(os.Getenv("PATH")+":"+contract.BundlePrograms, ":")) // fails for names without letters only
	}
}

// Bundled prepares a node in a user's own image, whose environment env is, and returns what slurmd has to be told of it. An error
// is a sentence about the image.
func Bundled(env []string, prolog string, sack Sack) ([]string, error) {
	if err := unix.Access(shell, unix.X_OK); err != nil {
		return nil, fmt.Errorf("the image of this node set has no %s, which Slurm starts jobs with (%w): take an image with a shell", shell, err)
	}
	if err := WriteFile(prolog, []byte(taskProlog(env)), 0o755); err != nil {
		return nil, err
	}
	arguments := []string{"-d", contract.BundlePrograms + "/slurmstepd"}
	if sack.Key == "" {
		// slurmd asks for its configuration before that could tell it.
		arguments = append(arguments, "--authinfo", "socket="+contract.MungeSocket)
	}
	return arguments, nil
}

// variable is the name of a variable that a shell can use.
var variable = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// own are variables of the container that are about the pod, or about slurmd, and not about the image's programs.
var own = pattern.New(`^(HOME|HOSTNAME|PWD|OLDPWD|SHLVL|TERM|_|RES_OPTIONS|MALLOC_ARENA_MAX|HWLOC_PLUGINS_PATH|KUBERNETES_.*|SLURM.*)$`)

// taskProlog is a script that makes the image's environment that of each task, since Slurm takes that along from where the job was
// submitted. What the job sets itself stays. Slurm reads "export NAME=value" from its output, to the end of the line
// (slurm.conf(5), TaskProlog), so what has several lines is left out.
func taskProlog(env []string) string {
	var script strings.Builder
	script.WriteString("#!" + shell + "\n")
	path := os.Getenv("PATH")
	for _, kv := range slices.Sorted(slices.Values(env)) {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			path = value
		case own().MatchString(name) || !variable().MatchString(name) || strings.Contains(value, "\n"):
		default:
			fmt.Fprintf(&script, "[ -n \"${%s+set}\" ] || printf '%%s\\n' %s\n", name, quote("export "+kv))
		}
	}
	path = strings.TrimSuffix(path, ":"+contract.BundlePrograms)
	// The task of a job that runs here already has what its parent made of it.
	fmt.Fprintf(&script, `case ":$PATH:" in *:%[1]s:*) exit ;; esac
path=%[2]s
IFS=:
for directory in $PATH; do
  case ":$path:" in *":$directory:"*) ;; *) path="$path:$directory" ;; esac
done
printf 'export PATH=%%s\n' "$path:%[1]s"
`, contract.BundlePrograms, quote(path))
	return script.String()
}

// quote makes text one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

package launch

import (
	"fmt"
	"maps"
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

// Bundled returns what slurmd has to be told in a user's own image. An error is a sentence about the image.
func Bundled(sack Sack) ([]string, error) {
	if err := unix.Access(shell, unix.X_OK); err != nil {
		return nil, fmt.Errorf("the image of this node set has no %s, which Slurm starts jobs with (%w): take an image with a shell", shell, err)
	}
	arguments := []string{"-d", contract.BundlePrograms + "/slurmstepd"}
	if sack.Key == "" {
		// slurmd asks for its configuration before that could tell it.
		arguments = append(arguments, "--authinfo", "socket="+contract.MungeSocket)
	}
	return arguments, nil
}

// TaskProlog is a script that gives each task what is peculiar to its node, since Slurm takes a task's environment along from where the
// job was submitted. What the job sets itself stays. Slurm reads "export NAME=value" from the script's output, to the end of the line
// (slurm.conf(5), TaskProlog), so what has several lines is left out.
type TaskProlog struct {
	// Image is the environment of a user's own image; nil in Slurm's.
	Image []string
	// Kernel are variables ("NAME=value") that programs need on this kernel, and Preload a library.
	Kernel  []string
	Preload string
}

// Needed tells whether the script would do anything.
func (p TaskProlog) Needed() bool { return p.Image != nil || p.Kernel != nil || p.Preload != "" }

// Write writes the script.
func (p TaskProlog) Write(file string) error { return WriteFile(file, []byte(p.script()), 0o755) }

// variable is the name of a variable that a shell can use.
var variable = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// own are variables of the container that are about the pod, or about slurmd, and not about the image's programs.
var own = pattern.New(`^(HOME|USER|HOSTNAME|PWD|OLDPWD|SHLVL|TERM|_|RES_OPTIONS|MALLOC_ARENA_MAX|HWLOC_PLUGINS_PATH|KUBERNETES_.*|SLURM.*)$`)

func (p TaskProlog) script() string {
	var script strings.Builder
	script.WriteString("#!" + shell + "\n")
	settings := make(map[string]string)
	for _, kv := range slices.Concat(p.Kernel, p.Image) {
		if name, _, _ := strings.Cut(kv, "="); !own().MatchString(name) && variable().MatchString(name) && !strings.Contains(kv, "\n") {
			settings[name] = kv
		}
	}
	path, found := settings["PATH"]
	if !found {
		path = "PATH=" + os.Getenv("PATH")
	}
	delete(settings, "PATH")
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&script, "[ -n \"${%s+set}\" ] || printf '%%s\\n' %s\n", name, quote("export "+settings[name]))
	}
	if p.Preload != "" {
		fmt.Fprintf(&script, `case "$LD_PRELOAD" in *%[1]s*) ;; *) printf 'export LD_PRELOAD=%%s\n' "%[1]s${LD_PRELOAD:+ $LD_PRELOAD}" ;; esac
`, p.Preload)
	}
	if p.Image != nil {
		script.WriteString(extendPath(strings.TrimPrefix(path, "PATH=")))
	}
	return script.String()
}

// extendPath is the part of the script that puts the image's directories before the task's own, and those of Slurm last.
func extendPath(path string) string {
	path = strings.TrimSuffix(path, ":"+contract.BundlePrograms)
	// The task of a job that runs here already has what its parent made of it.
	return fmt.Sprintf(`case ":$PATH:" in *:%[1]s:*) exit ;; esac
path=%[2]s
IFS=:
for directory in $PATH; do
  case ":$path:" in *":$directory:"*) ;; *) path="$path:$directory" ;; esac
done
printf 'export PATH=%%s\n' "$path:%[1]s"
`, contract.BundlePrograms, quote(path))
}

// quote makes text one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

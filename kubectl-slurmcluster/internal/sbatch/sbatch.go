// Package sbatch submits a script from the user's machine.
package sbatch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// upload writes standard input to $1 in the new private directory $0, runs the other arguments and cleans
// up. sbatch has read the script when it returns, so the file has served its purpose then. The shell must
// outlive the signals that end sbatch --wait.
const upload = `umask 077; mkdir -- "$0" || exit 1
trap 'rm -rf -- "$0"' EXIT; trap : INT TERM HUP
cat >"$1" && shift && "$@"`

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	format := output.NewFormat(output.JSON, output.YAML, output.Name)
	cmd := &cobra.Command{
		Use:   "sbatch [flags] NAME [SBATCH OPTIONS] [SCRIPT [ARGUMENTS]]",
		Short: "Submit a batch script from this machine",
		Long: `Submit a batch script to a cluster. The script is read from this machine, or
from standard input when none is named. All options of sbatch go between NAME
and SCRIPT.

Flags of this plugin, such as --namespace, go before NAME. After NAME, -n is
sbatch's number of tasks; after SCRIPT, everything is an argument of the script.
With -o name before NAME, only the id of the job is printed.`,
		Example: `  kubectl slurmcluster sbatch demo hello.sh
  kubectl slurmcluster sbatch demo -N 2 --time=5 hello.sh argument
  kubectl slurmcluster sbatch -n team-a demo --wrap 'srun hostname'
  generate-job | kubectl slurmcluster sbatch demo
  id=$(kubectl slurmcluster sbatch -o name demo hello.sh)`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := pods.Open(env, args[0])
			if err != nil {
				return err
			}
			if format.ForPrograms() {
				return submitForPrograms(cmd.Context(), env, cluster, args[1:], format)
			}
			return submit(cmd.Context(), cluster, args[1:], env.IOStreams)
		},
	}
	cmd.Flags().SetInterspersed(false)
	format.AddFlag(cmd)
	return cmd
}

func submit(ctx context.Context, cluster *pods.Cluster, args []string, streams genericiooptions.IOStreams) error {
	line := parse(args)
	if line.noScript {
		streams.In = nil
	}
	if line.noScript || line.script == "" {
		return cluster.Session(ctx, append([]string{"sbatch"}, args...), streams)
	}
	script, err := os.ReadFile(line.script)
	if err != nil {
		return fmt.Errorf("%w; scripts are read from this machine; if %q is the value of an option, write --option=%s",
			err, line.script, line.script)
	}
	streams.In = bytes.NewReader(script)
	return cluster.Session(ctx, uploadCommand("/tmp/sbatch-"+rand.String(10), line), streams)
}

// uploadCommand keeps the script's name, because Slurm names the job after it.
func uploadCommand(directory string, line commandLine) []string {
	file := path.Join(directory, filepath.Base(line.script))
	command := append([]string{"sh", "-c", upload, directory, file, "sbatch"}, line.options...)
	return append(append(command, file), line.scriptArgs...)
}

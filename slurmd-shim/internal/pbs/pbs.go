// Package pbs has the commands of PBS and Torque that people know who come from there. Each asks Slurm's own commands: sbatch
// understands #PBS lines itself.
package pbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// Exit statuses of PBS's own commands.
const (
	// exitUnknown is for a job that there is not (PBSE_UNKJOBID of Torque's pbs_error.h, less 15000, modulo 256).
	exitUnknown = 153
	// exitUsage is for what cannot be understood.
	exitUsage = 2
)

// Command returns the command of the name, or nil if PBS has another or none of that name.
func Command(name string) *cobra.Command {
	var c *cobra.Command
	switch name {
	case "qsub":
		c = qsub()
	case "qstat":
		c = qstat()
	case "qdel":
		c = onJobs("qdel JOB...", "Cancel jobs", "scancel")
	case "qhold":
		c = onJobs("qhold JOB...", "Keep waiting jobs from starting", "scontrol", "hold")
	case "qrls":
		c = onJobs("qrls JOB...", "Let jobs start that qhold keeps", "scontrol", "release")
	case "pbsnodes":
		c = pbsnodes()
	default:
		return nil
	}
	c.SilenceErrors, c.SilenceUsage, c.DisableFlagsInUseLine = true, true, true
	c.CompletionOptions.DisableDefaultCmd = true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; %s --help lists what there is", err, c.Name())
	})
	return c
}

func usagef(format string, args ...any) error {
	return &exit.Error{Code: exitUsage, Err: fmt.Errorf(format, args...)}
}

// onJobs is a command that does the same with each job that it is told.
func onJobs(use, short string, command ...string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var errs error
			for _, arg := range args {
				id, err := jobID(arg)
				if err == nil {
					_, err = slurm(c.Context(), nil, command[0], append(command[1:len(command):len(command)], id)...)
				}
				errs = errors.Join(errs, err)
			}
			return errs
		},
	}
}

// identifier is a job, or a member of an array, as PBS writes it: 12, 12.server, 12[], 12[3].server.
var identifier = pattern.New(`^([0-9]+)(?:\[([0-9]*)\])?(?:\..*)?$`)

// jobID is the job as Slurm writes it: 12, 12_3.
func jobID(text string) (string, error) {
	m := identifier().FindStringSubmatch(text)
	switch {
	case m == nil:
		return "", usagef("%q is not a job; write its number, such as 12, or 12[3] for a member of an array", text)
	case m[2] != "":
		return m[1] + "_" + m[2], nil
	}
	return m[1], nil
}

// slurm runs a command of Slurm's and returns what it prints. The error has the command's own words and exit status.
func slurm(ctx context.Context, in io.Reader, name string, args ...string) (string, error) {
	var out, said strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &said
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		text := strings.TrimSpace(said.String())
		if strings.Contains(strings.ToLower(text), "invalid job id") {
			return "", &exit.Error{Code: exitUnknown, Err: fmt.Errorf("Unknown Job Id %s", args[len(args)-1])} //nolint:staticcheck // PBS's words, which scripts look for
		}
		return "", &exit.Error{Code: exit.OfChild(err), Err: errors.New(text)}
	}
	if err != nil {
		return "", fmt.Errorf("running %s: %w", name, err)
	}
	return out.String(), nil
}

package pbs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// passed are options of qsub with a value that sbatch understands in #PBS lines, or takes no notice of there, with what --help says.
var passed = []struct{ letter, name, help string }{
	{"a", "start-time", "not before this `TIME`"},
	{"A", "account", "the `ACCOUNT` to charge"},
	{"c", "checkpoint", "has no effect"},
	{"C", "prefix", "has no effect"},
	{"d", "directory", "the `DIRECTORY` to work in"},
	{"e", "error", "the `FILE` for what the job says on stderr; default: NAME.eJOB"},
	{"j", "join", "`oe` or eo: one file for stdout and stderr"},
	{"J", "array", "an array with these `INDICES`, such as 1-10 (PBS Pro)"},
	{"k", "keep", "has no effect"},
	{"l", "resources", "`RESOURCES`, such as nodes=2:ppn=4,walltime=1:00:00 or select=2:ncpus=4:mem=2gb"},
	{"m", "mail", "has no effect where Slurm sends no mail"},
	{"M", "mail-to", "has no effect where Slurm sends no mail"},
	{"N", "name", "the `NAME` of the job; default: that of the script, or STDIN"},
	{"o", "output", "the `FILE` for what the job prints; default: NAME.oJOB"},
	{"p", "priority", "`PRIORITY`"},
	{"q", "queue", "the `PARTITION`"},
	{"r", "rerunnable", "has no effect"},
	{"S", "shell", "the `SHELL` of a script that does not name one; default: /bin/sh"},
	{"t", "task-array", "an array with these `INDICES` (Torque)"},
	{"u", "users", "has no effect"},
	{"w", "work-directory", "the `DIRECTORY` to work in"},
	{"W", "attributes", "`ATTRIBUTES`: depend=afterok:JOB, umask=077, block=true (wait for the end)"},
}

// submission is what qsub was asked for.
type submission struct {
	// header are #PBS lines from the command line.
	header []string
	// name of the script, for the job's if it has none.
	name string
	// export has what -v names, on the command line or in the script.
	export []string
	// joined: stdout and stderr are one file.
	joined bool
	wait   bool
	shell  string
}

func qsub() *cobra.Command {
	var hold, all, quiet, interactive bool
	var s submission
	c := &cobra.Command{
		Use: "qsub [options] [SCRIPT]", Short: "Submit a job script, from a file or standard input, and print the job's number",
		Args: cobra.MaximumNArgs(1),
	}
	for _, p := range passed {
		c.Flags().StringArrayP(p.name, p.letter, nil, p.help)
	}
	c.Flags().StringArrayVarP(&s.export, "variables", "v", nil, "`NAME=VALUE,...` to set for the job")
	c.Flags().BoolVarP(&all, "export-all", "V", false, "the job gets the environment of here, as it does without")
	c.Flags().BoolVarP(&hold, "hold", "h", false, "the job waits until qrls")
	c.Flags().BoolVarP(&quiet, "quiet", "z", false, "do not print the job's number")
	c.Flags().BoolVarP(&interactive, "interactive", "I", false, "not here: use srun --pty bash or salloc")
	c.Flags().Bool("help", false, "this") // -h is another's
	c.RunE = func(c *cobra.Command, args []string) error {
		if interactive {
			return usagef("-I: interactive jobs are srun --pty bash, or salloc, with options of Slurm's, such as --nodes=2 --time=1:00:00")
		}
		s.name = "STDIN"
		if err := s.read(c.Flags()); err != nil {
			return err
		}
		if hold {
			s.header = append(s.header, "#PBS -h")
		}
		text, err := io.ReadAll(c.InOrStdin())
		if len(args) == 1 && args[0] != "-" {
			s.name = filepath.Base(args[0])
			text, err = os.ReadFile(args[0])
		}
		if err != nil {
			return fmt.Errorf("reading the script: %w", err)
		}
		script := s.script(string(text))
		out, err := slurm(c.Context(), strings.NewReader(script), "sbatch", s.options()...)
		if err == nil && !quiet {
			_, err = io.WriteString(c.OutOrStdout(), out)
		}
		return err
	}
	return c
}

// read makes #PBS lines of the options.
func (s *submission) read(flags *pflag.FlagSet) error {
	for _, p := range passed {
		values, err := flags.GetStringArray(p.name)
		if err != nil {
			return err
		}
		for _, value := range values {
			if strings.ContainsAny(value, "\"\n") {
				return usagef("-%s %q: a value cannot hold quotes or line breaks", p.letter, value)
			}
			switch {
			case p.letter == "S":
				s.shell = value
			case p.letter == "j":
				s.joined = value != "n"
			case p.letter == "W" && value == "block=true":
				s.wait = true
			default:
				s.header = append(s.header, fmt.Sprintf("#PBS -%s \"%s\"", p.letter, value))
			}
		}
	}
	return nil
}

// options are sbatch's.
func (s *submission) options() []string {
	list := []string{"--parsable"}
	if s.wait {
		list = append(list, "--wait")
	}
	// -v as a #PBS line would take everything else away, PATH as well. PBS_ENVIRONMENT is the one that Slurm's spank_pbs does not set.
	return append(list, "--export="+strings.Join(append([]string{"ALL", "PBS_ENVIRONMENT=PBS_BATCH"}, s.export...), ","))
}

// script is the text with the options in it: PBS's defaults before what the script says of itself, the command line's
// after it, because the last of several #PBS lines counts.
func (s *submission) script(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "#!") {
		first, rest = "#!"+s.shell, text
		if s.shell == "" {
			first = "#!/bin/sh"
		}
	}
	lines := []string{first, fmt.Sprintf("#PBS -N \"%s\"", strings.ReplaceAll(s.name, `"`, "")), `#PBS -o "%x.o%j"`}
	joined := s.joined
	header := 0
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			break
		}
		header += len(line)
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "#PBS" {
			joined = joined || fields[1] == "-j" && fields[2] != "n"
			if fields[1] == "-v" {
				s.export = append([]string{fields[2]}, s.export...)
			}
		}
	}
	if !joined {
		lines = append(lines, `#PBS -e "%x.e%j"`)
	}
	begin := strings.Join(lines, "\n") + "\n" + rest[:header]
	if !strings.HasSuffix(begin, "\n") {
		begin += "\n"
	}
	return begin + strings.Join(append(s.header, ""), "\n") + rest[header:]
}

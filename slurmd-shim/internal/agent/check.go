package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// checkTimeout bounds one run of Slurm's parser, which takes 10 ms. It waits for files that are missing.
const checkTimeout = 10 * time.Second

// refusal is what Slurm's parser has against a configuration.
type refusal string

func (r refusal) Error() string { return string(r) }

// check asks Slurm's own parser about a staged configuration. Every command of Slurm reads all of slurm.conf
// and loads the plugins that it shares with the daemons before it does anything: unknown keys, values that
// are no numbers, broken node and partition lines, a SlurmUser who does not exist and contradictions between
// options are found; names of slurmctld's own plugins, unknown nodes in partitions, gres.conf and
// cgroup.conf are not, because only daemons read those. Its error is a refusal, unless the parser could not be asked.
func (a *Agent) check(ctx context.Context, s staged) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.Check[0], a.Check[1:]...)
	cmd.Env = append(launch.Env(), "SLURM_CONF="+filepath.Join(s.dir, contract.FileSlurmConf))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	var failed *exec.ExitError
	if !errors.As(err, &failed) || ctx.Err() != nil {
		return fmt.Errorf("run %s to check the configuration: %w", a.Check[0], errors.Join(err, ctx.Err()))
	}
	return refusal(explain(string(out), s.files[contract.FileSlurmConf]))
}

var (
	// speaker is what stands before a message: the command's name or, in slurmctld's log from 26.05, the time;
	// then how bad it is and, for some, the function.
	speaker  = pattern.New(`^(?:[a-z]+:|\[[^\]]*\]) (error|fatal): (?:_[a-z_]+: )?`)
	fileLine = pattern.New(` in file \S*?([^/\s]+) line ([0-9]+)`)
	// keyValue has Slurm's syntax of the first pair of a line.
	keyValue = pattern.New(`^\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*"?([^\s"]*)`)
	word     = pattern.New(`[A-Za-z0-9_./-]+`)
)

// Groups of keyValue by which a line can be found. Values of one or two characters say nothing.
const (
	partKey   = 1
	partValue = 2
)

// explain turns what Slurm's parser printed into a sentence with the line that it is about. The parser names
// a file and a line for lines of several keys only; for the others it names the key.
func explain(output, conf string) string {
	var said []string
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(speaker().ReplaceAllString(line, ""))
		if text != "" && (len(said) == 0 || text != "Unable to process configuration file") {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		said = []string{"Slurm refuses it without saying why"}
	}
	all := strings.Join(said, "; ")
	if m := fileLine().FindStringSubmatch(all); m != nil {
		return fmt.Sprintf("%s line %s: %s. Correct or remove that line", m[1], m[2], all)
	}
	for _, part := range []int{partKey, partValue} {
		for _, text := range said {
			if n, line := lineOf(text, conf, part); n > 0 {
				return fmt.Sprintf("%s line %d (%s): %s. Correct or remove that line", contract.FileSlurmConf, n, line, all)
			}
		}
	}
	return fmt.Sprintf("%s: %s. Correct it", contract.FileSlurmConf, all)
}

// lineOf finds the last line of conf whose key, or value, stands in the text as a word; 0 if there is none.
func lineOf(text, conf string, part int) (int, string) {
	named := map[string]bool{}
	for _, w := range word().FindAllString(text, -1) {
		named[strings.ToLower(w)] = true
	}
	found, content, n := 0, "", 0
	for line := range strings.Lines(conf) {
		n++
		if m := keyValue().FindStringSubmatch(line); m != nil && len(m[part]) > 2 && named[strings.ToLower(m[part])] {
			found, content = n, strings.TrimSpace(line)
		}
	}
	return found, content
}

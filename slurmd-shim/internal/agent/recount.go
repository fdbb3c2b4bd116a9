package agent

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

const (
	// batchStart is Slurm's default of BatchStartTimeout, and messageTime the most that slurmctld adds to it, before it
	// believes a node that does not name a job: see _purge_missing_jobs of Slurm's job_mgr.c.
	batchStart, messageTime = 10 * time.Second, 10 * time.Second
	// recountSlack is what slurmctld may need to begin.
	recountSlack = 5 * time.Second
)

var batchStartTimeout = regexp.MustCompile(`(?mi)^BatchStartTimeout=([0-9]+)`)

// patience is how long after its start slurmctld takes a job that its node does not name for lost.
func (a *Agent) patience() time.Duration {
	patience := batchStart
	if m := batchStartTimeout.FindStringSubmatch(a.current.files[contract.FileSlurmConf]); m != nil {
		if s, err := strconv.Atoi(m[1]); err == nil {
			patience = time.Duration(s) * time.Second
		}
	}
	return patience + messageTime + recountSlack
}

// recountLater sees to it that nodes are asked for their jobs when slurmctld, which starts now, will believe them.
func (a *Agent) recountLater() {
	after := a.RecountAfter
	if after == 0 {
		after = a.patience()
	}
	a.recountAt = time.After(after)
}

// recount lets the nodes tell slurmctld which jobs they run. A slurmctld that starts, also to read its configuration,
// knows what it has saved: a job that it was about to launch runs for it for ever, and so does, after a sudden end, one
// that has ended in the five seconds before. It would notice when the nodes register, which it lets them do every
// twentieth ping, so every 33 minutes. UNDRAIN asks a node to register at once and changes nothing else of one that is
// not drained; the others are left alone.
func (a *Agent) recount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, a.Sinfo, "--noheader", "--format=%T %N").CombinedOutput()
	if err != nil {
		return fmt.Errorf("sinfo: %w: %s", err, strings.TrimSpace(string(out)))
	}
	var nodes []string
	for line := range strings.Lines(string(out)) {
		switch state, names, _ := strings.Cut(strings.TrimSpace(line), " "); state {
		case "idle", "mixed", "allocated":
			nodes = append(nodes, names)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	if out, err := exec.CommandContext(ctx, a.Scontrol, "update", "NodeName="+strings.Join(nodes, ","), "State=UNDRAIN").CombinedOutput(); err != nil {
		return fmt.Errorf("scontrol update: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

package agent

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

const (
	// batchStart is Slurm's default of BatchStartTimeout, and messageTime the most that slurmctld adds to it, before it
	// believes a node that does not name a job: see _purge_missing_jobs of Slurm's job_mgr.c.
	batchStart, messageTime = 10 * time.Second, 10 * time.Second
	// recountSlack is what slurmctld may need to begin.
	recountSlack = 5 * time.Second
)

var batchStartTimeout = pattern.New(`(?mi)^BatchStartTimeout=([0-9]+)`)

// patience is how long after its start slurmctld takes a job that its node does not name for lost.
func (a *Agent) patience() time.Duration {
	patience := batchStart
	if m := batchStartTimeout().FindStringSubmatch(a.current.files[contract.FileSlurmConf]); m != nil {
		if s, err := strconv.Atoi(m[1]); err == nil {
			patience = time.Duration(s) * time.Second
		}
	}
	return patience + messageTime + recountSlack
}

// recovers tells whether a slurmctld that starts now finds jobs of another one.
func (a *Agent) recovers() bool {
	saved, err := filepath.Glob(filepath.Join(a.StateDir, "job_state*"))
	return err != nil || len(saved) > 0
}

// recountLater sees to it that nodes are asked for their jobs when slurmctld, which starts now, will believe them.
func (a *Agent) recountLater() {
	after := a.RecountAfter
	if after == 0 {
		after = a.patience()
	}
	a.recountAt = time.After(after)
}

// settleJobs lets slurmctld find out what has become of jobs, and tells whether it has to read its configuration for that. It
// is done once after each start: a job that was recovered on a node that is no longer there completes for ever, until
// slurmctld recovers its jobs once more.
func (a *Agent) settleJobs(ctx context.Context) (reconfigure bool) {
	err := a.recount(ctx)
	if err == nil && !a.nudged {
		a.nudged, err = a.completesNowhere(ctx)
		if a.nudged {
			a.Log.Info("slurmctld is told to read its configuration, because a job completes on no node")
			return true
		}
	}
	if err != nil {
		a.Log.Warn("nodes could not be asked for their jobs yet", "error", err)
		a.recountLater()
	}
	return false
}

// completesNowhere tells whether a job completes on no node.
func (a *Agent) completesNowhere(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	jobs, err := a.slurm(ctx, a.Squeue, "--noheader", "--states=COMPLETING", "--format=%A %N")
	if err != nil {
		return false, err
	}
	for job := range strings.Lines(jobs) {
		if len(strings.Fields(job)) == 1 {
			return true, nil
		}
	}
	return false, nil
}

// recount lets the nodes tell slurmctld which jobs they run. A slurmctld that starts, also to read its configuration,
// knows what it has saved: a job that it was about to launch runs for it for ever, and so does, after a sudden end, one
// that has ended in the five seconds before. It would notice when the nodes register, which it lets them do every
// twentieth ping, so every 33 minutes. UNDRAIN asks a node to register at once and changes nothing else of one that is
// not drained, but that for a moment it counts as not responding; so idle nodes are left alone. One that is drained and busy is
// drained again at once, before it has registered and can get a job.
func (a *Agent) recount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	groups, err := a.slurm(ctx, a.Sinfo, "--noheader", "--format=%T|%N|%E")
	if err != nil {
		return err
	}
	var usable []string
	for group := range strings.Lines(groups) {
		state, rest, _ := strings.Cut(strings.TrimSpace(group), "|")
		nodes, reason, _ := strings.Cut(rest, "|")
		switch state {
		case "mixed", "allocated":
			usable = append(usable, nodes)
		case "draining":
			if err := a.register(ctx, nodes); err != nil {
				return err
			}
			if _, err := a.slurm(ctx, a.Scontrol, "update", "NodeName="+nodes, "State=DRAIN", "Reason="+reason); err != nil {
				return err
			}
		}
	}
	if len(usable) == 0 {
		return nil
	}
	return a.register(ctx, strings.Join(usable, ","))
}

// register lets nodes register.
func (a *Agent) register(ctx context.Context, nodes string) error {
	_, err := a.slurm(ctx, a.Scontrol, "update", "NodeName="+nodes, "State=UNDRAIN")
	return err
}

// slurm runs one of Slurm's commands and returns what it prints.
func (a *Agent) slurm(ctx context.Context, command string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, command, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(command), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

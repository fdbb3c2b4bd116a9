package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

const (
	// visitsEvery is how often it is looked who has a shell.
	visitsEvery = 15 * time.Second
	// announcementLimit bounds an announcement, in bytes.
	announcementLimit = 4096
)

// visitors remembers when somebody last had a shell.
type visitors struct {
	mu   sync.Mutex
	last time.Time
}

// terminals are the pseudo-terminals that are open in this container: each shell of kubectl exec has one, and no daemon.
func (a *Agent) terminals() ([]string, error) {
	entries, err := os.ReadDir(a.Terminals)
	if err != nil {
		return nil, fmt.Errorf("listing terminals: %w", err)
	}
	var list []string
	for _, entry := range entries {
		if entry.Name() != "ptmx" {
			list = append(list, filepath.Join(a.Terminals, entry.Name()))
		}
	}
	return list, nil
}

// countVisitors counts open shells and remembers when there was one.
func (a *Agent) countVisitors() contract.AgentVisitors {
	terminals, err := a.terminals()
	if err != nil {
		a.Log.Warn("taking somebody to be there", "error", err)
		terminals = []string{""}
	}
	a.visitors.mu.Lock()
	defer a.visitors.mu.Unlock()
	now := contract.AgentVisitors{Now: len(terminals), SecondsSince: -1}
	if now.Now > 0 {
		a.visitors.last = time.Now()
	}
	if !a.visitors.last.IsZero() {
		now.SecondsSince = int64(time.Since(a.visitors.last).Seconds())
	}
	return now
}

func (a *Agent) serveVisitors(w http.ResponseWriter, _ *http.Request) { a.answer(w, a.countVisitors()) }

func (a *Agent) serveAnnounce(w http.ResponseWriter, r *http.Request) {
	var in contract.AgentAnnouncement
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, announcementLimit)).Decode(&in); err != nil {
		http.Error(w, "an announcement is a JSON object with text: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := errors.Join(a.writeToTerminals(in.Text), a.notifyJobs(r.Context(), in.Text)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// writeToTerminals shows a line in every shell.
func (a *Agent) writeToTerminals(text string) error {
	terminals, err := a.terminals()
	if err != nil {
		return err
	}
	line := "\r\n" + printable(text) + "\r\n"
	var errs []error
	for _, name := range terminals {
		// A terminal whose owner has stopped its output must not stop us.
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed since
		}
		if err == nil {
			_, err = f.WriteString(line)
			err = errors.Join(err, f.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// printable leaves out what a terminal would take for a command.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// notifyJobs shows a line to who runs a job interactively; in the output of a script, nobody would look for it.
func (a *Agent) notifyJobs(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	jobs, err := a.slurm(ctx, a.Squeue, "--noheader", "--states=RUNNING", "--Format=JobID:|,BatchFlag:")
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(jobs) {
		if id, batch, _ := strings.Cut(strings.TrimSpace(line), "|"); batch == "0" {
			_, err := a.slurm(ctx, a.Scontrol, "notify", id, printable(text))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

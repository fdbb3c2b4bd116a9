// Package watch tells when files that the kubelet mounts may have changed.
package watch

import (
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// debounce lets the kubelet finish: it swaps the files with one rename among several changes.
const debounce = 200 * time.Millisecond

// Every is for where no notification comes: nodes run out of inotify watches.
const Every = 10 * time.Second

// Dirs returns a channel that says when something in directories may have changed; once at the start, for what changed
// since it was read. every is how often it says so without a notification.
func Dirs(log *slog.Logger, every time.Duration, dirs ...string) (changes <-chan struct{}, stop func()) {
	var events chan fsnotify.Event
	var errs chan error
	closeWatcher := func() error { return nil }
	w, err := fsnotify.NewWatcher()
	if err == nil {
		events, errs, closeWatcher = w.Events, w.Errors, w.Close
	}
	for i := 0; i < len(dirs) && err == nil; i++ {
		err = w.Add(dirs[i])
	}
	if err != nil {
		log.Warn("mounted files are looked at from time to time only", "directories", dirs, "every", every.String(), "error", err)
	}
	c, done := make(chan struct{}, 1), make(chan struct{})
	go follow(log, every, events, errs, c, done)
	return c, func() {
		close(done)
		if err := closeWatcher(); err != nil {
			log.Warn("stop watching mounted files", "error", err)
		}
	}
}

// follow turns notifications and time into messages until done is closed.
func follow(log *slog.Logger, every time.Duration, events <-chan fsnotify.Event, errs <-chan error, changes chan<- struct{}, done <-chan struct{}) {
	poll := time.NewTicker(every)
	defer poll.Stop()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	for {
		select {
		case <-done:
			return
		case <-events:
			quiet.Reset(debounce)
		case err, ok := <-errs:
			if !ok { // closed, and done with it
				return
			}
			log.Warn("watching mounted files", "error", err)
		case <-quiet.C:
			notify(changes)
		case <-poll.C:
			notify(changes)
		}
	}
}

// notify leaves a message unless one waits already.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

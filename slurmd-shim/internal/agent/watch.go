package agent

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// debounce lets the kubelet finish: it swaps the files with one rename among several changes.
	debounce = 200 * time.Millisecond
	// PollEvery is for where no notification comes: nodes run out of inotify watches.
	PollEvery = 10 * time.Second
)

// watch returns a channel that says when the mounted configuration may have changed; once at the start, for
// what changed since it was read.
func (a *Agent) watch() (<-chan struct{}, func()) {
	var events chan fsnotify.Event
	var errs chan error
	closeWatcher := func() error { return nil }
	w, err := fsnotify.NewWatcher()
	if err == nil {
		events, errs, closeWatcher = w.Events, w.Errors, w.Close
		err = w.Add(a.Source)
	}
	if err != nil {
		a.Log.Warn("the configuration is looked at from time to time only", "every", a.PollEvery.String(), "error", err)
	}
	changes, stop := make(chan struct{}, 1), make(chan struct{})
	go a.follow(events, errs, changes, stop)
	return changes, func() {
		close(stop)
		if err := closeWatcher(); err != nil {
			a.Log.Warn("stop watching the configuration", "error", err)
		}
	}
}

// follow turns notifications and time into messages until stop is closed.
func (a *Agent) follow(events <-chan fsnotify.Event, errs <-chan error, changes chan<- struct{}, stop <-chan struct{}) {
	poll := time.NewTicker(a.PollEvery)
	defer poll.Stop()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	for {
		select {
		case <-stop:
			return
		case <-events:
			quiet.Reset(debounce)
		case err, ok := <-errs:
			if !ok { // closed, and stop with it
				return
			}
			a.Log.Warn("watching the configuration", "error", err)
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

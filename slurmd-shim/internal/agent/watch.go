package agent

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// debounce lets the kubelet finish: it swaps the files with one rename among several changes.
	debounce = 200 * time.Millisecond
	// pollEvery is for where no notification comes: nodes run out of inotify watches.
	pollEvery = 10 * time.Second
)

// watch returns a channel that says when the mounted configuration may have changed.
func (a *Agent) watch() (<-chan struct{}, func()) {
	var events chan fsnotify.Event
	var errs chan error
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(a.Source)
		events, errs = w.Events, w.Errors
	}
	if err != nil {
		a.Log.Warn("the configuration is looked at every "+pollEvery.String()+" only", "error", err)
	}
	changes, stop := make(chan struct{}, 1), make(chan struct{})
	go func() {
		poll := time.NewTicker(pollEvery)
		defer poll.Stop()
		quiet := time.NewTimer(0)
		defer quiet.Stop()
		for {
			select {
			case <-stop:
				return
			case _, ok := <-events:
				if !ok {
					events = nil
					continue
				}
				quiet.Reset(debounce)
			case err, ok := <-errs:
				if !ok {
					errs = nil
					continue
				}
				a.Log.Warn("watching the configuration", "error", err)
			case <-quiet.C:
				notify(changes)
			case <-poll.C:
				notify(changes)
			}
		}
	}()
	return changes, func() {
		close(stop)
		if w != nil {
			if err := w.Close(); err != nil {
				a.Log.Warn("stop watching the configuration", "error", err)
			}
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

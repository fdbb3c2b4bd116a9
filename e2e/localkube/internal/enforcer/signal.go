package enforcer

import "k8s.io/client-go/tools/cache"

// signal says that something changed; what, is to be looked up.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// raise does not block: a signal that is raised already says it all.
func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// lower forgets what will be looked up anyhow.
func (s signal) lower() {
	select {
	case <-s:
	default:
	}
}

// onEvents raises the signal at whatever happens to objects.
func (s signal) onEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.raise() },
		UpdateFunc: func(any, any) { s.raise() },
		DeleteFunc: func(any) { s.raise() },
	}
}

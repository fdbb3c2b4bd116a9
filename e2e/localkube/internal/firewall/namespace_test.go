package firewall

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace, and the thread that lives in it. Nothing names it, so it vanishes with the thread,
// also when the test is killed.
type namespace struct {
	t    *testing.T
	jobs chan func()
	file *os.File
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	n := &namespace{t: t, jobs: make(chan func())}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.file, err = os.Open("/proc/thread-self/ns/net")
		}
		started <- err
		for job := range n.jobs {
			job()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("making a network namespace, which takes root: %v", err)
	}
	t.Cleanup(func() {
		close(n.jobs)
		n.file.Close()
	})
	n.run("ip", "link", "set", "lo", "up")
	return n
}

// do calls a function in the namespace. What it opens stays there.
func (n *namespace) do(job func() error) error {
	done := make(chan error)
	n.jobs <- func() { done <- job() }
	return <-done
}

func (n *namespace) must(job func() error) {
	n.t.Helper()
	if err := n.do(job); err != nil {
		n.t.Fatal(err)
	}
}

// run runs a command in the namespace.
func (n *namespace) run(name string, args ...string) {
	n.t.Helper()
	n.must(func() error {
		if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w: %s", name, args, err, output)
		}
		return nil
	})
}

// sysctl sets a sysctl below net/ipv4.
func (n *namespace) sysctl(name, value string) {
	n.t.Helper()
	n.must(func() error { return os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0o644) })
}

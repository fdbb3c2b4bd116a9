package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 2 2 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 100"
	for _, command := range []string{"(sh)", "(a b)", "(odd) S 1 (name)"} {
		state, start, err := parseStat("12 " + command + tail)
		if err != nil || state != "S" || start != 4711 {
			t.Errorf("%s: got %q, %d, %v; want S, 4711", command, state, start, err)
		}
	}
	for _, broken := range []string{"", "12 (sh", "12 (sh) S 1 2"} {
		if _, _, err := parseStat(broken); err == nil {
			t.Errorf("%q: want an error", broken)
		}
	}
}

func TestKillOnlyThatVeryProcess(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Find(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := ID{PID: id.PID, Start: id.Start - 1}
	if err := stranger.Kill(time.Second); err != nil {
		t.Errorf("killing a process that is gone: %v", err)
	}
	if !id.Alive() {
		t.Fatal("a process with the same pid was killed")
	}
	if err := id.Kill(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("it is still alive")
	}
	if err := child.Wait(); err == nil {
		t.Error("it was not killed")
	}
}

func TestAliveOfSelf(t *testing.T) {
	id, err := Find(os.Getpid())
	if err != nil || !id.Alive() || (ID{}).Alive() {
		t.Errorf("got %v, %v", id, err)
	}
}

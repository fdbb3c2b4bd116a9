package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestProgressSpeaksUp(t *testing.T) {
	var out bytes.Buffer
	shown := progress{out: &out, every: time.Millisecond}
	if err := shown.step("long work", func() error { time.Sleep(20 * time.Millisecond); return nil }); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "...") || !strings.Contains(text, "ok") {
		t.Errorf("no heartbeat, or no result, in %q", text)
	}
}

func TestProgressPassesErrorsOn(t *testing.T) {
	var out bytes.Buffer
	broken := errors.New("broken")
	if err := newProgress(&out).step("work", func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "FAILED") {
		t.Errorf("no failure in %q", out.String())
	}
}

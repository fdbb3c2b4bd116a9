package build

import (
	"os"
	"path/filepath"
	"testing"
)

// source makes a module with the inputs of a build.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module m")
	write(t, dir, "go.sum", "")
	write(t, dir, "cmd/node/main.go", "package main")
	write(t, dir, "runtime/runc/go.mod", "module r")
	write(t, dir, "runtime/containerd/go.mod", "module c")
	write(t, dir, "runtime/gvisor/go.mod", "module g")
	write(t, dir, "internal/images/images.go", "package images")
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func key(t *testing.T, dir string, toolchain Toolchain) string {
	t.Helper()
	got, err := Kubernetes.Key(dir, toolchain)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestKeyFollowsContent(t *testing.T) {
	toolchain := Toolchain{GOVERSION: "go1.26.8", GOARCH: "amd64"}
	dir := source(t)
	before := key(t, dir, toolchain)
	if len(before) != 16 {
		t.Errorf("key %q: want 16 characters", before)
	}
	if same := key(t, source(t), toolchain); same != before {
		t.Errorf("the same content elsewhere has key %s, not %s", same, before)
	}
	if other := key(t, dir, Toolchain{GOVERSION: "go1.27", GOARCH: "amd64"}); other == before {
		t.Error("another Go has the same key")
	}
	write(t, dir, "cmd/node/main_test.go", "package main")
	if got := key(t, dir, toolchain); got != before {
		t.Error("a test changes the key")
	}
	write(t, dir, "internal/cli/root.go", "package cli")
	if got := key(t, dir, toolchain); got != before {
		t.Error("a file that goes into no program changes the key")
	}
	gvisor, err := GVisor.Key(dir, toolchain)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "runtime/gvisor/go.mod", "module other")
	if got := key(t, dir, toolchain); got != before {
		t.Error("another gVisor changes the key of what runs without it")
	}
	if got, err := GVisor.Key(dir, toolchain); err != nil || got == gvisor {
		t.Errorf("another gVisor has the same key (%v)", err)
	}
	write(t, dir, "runtime/runc/go.mod", "module other")
	if got := key(t, dir, toolchain); got == before {
		t.Error("another runc has the same key")
	}
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"a\n", "a"},
		{"a\nb\nc\n", "b\nc"},
	} {
		if got := lastLines(test.text, 2); got != test.want {
			t.Errorf("lastLines(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestPrune(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"old", "running", "fresh", "other.partial"} {
		write(t, cache, filepath.Join(name, "bin", "node"), "")
	}
	if err := Kubernetes.setCurrent(cache, "fresh"); err != nil {
		t.Fatal(err)
	}
	if err := Prune(cache, "fresh", "running"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"old": false, "running": true, "fresh": true, "current": true} {
		if _, err := os.Stat(filepath.Join(cache, name, "bin", "node")); (err == nil) != want {
			t.Errorf("%s: there is %v, want %t", name, err, want)
		}
	}
}

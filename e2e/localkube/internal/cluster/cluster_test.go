package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCheckOurs(t *testing.T) {
	dir := t.TempDir()
	for _, fine := range []string{dir, filepath.Join(dir, "missing")} {
		if err := checkOurs(fine); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checkOurs(dir); err == nil {
		t.Error("a directory with somebody else's file: want an error")
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checkOurs(dir); err != nil {
		t.Errorf("a marked directory: %v", err)
	}
}

func TestPidChain(t *testing.T) {
	got := pidChain("Name:\tetcd\nPid:\t4711\nNSpid:\t4711\t12\nThreads:\t3\n")
	if want := []int{4711, 12}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseImages(t *testing.T) {
	const table = `REF TYPE DIGEST SIZE PLATFORMS LABELS
localhost/a:dev application/vnd.docker.distribution.manifest.v2+json sha256:11 5.0 MiB linux/amd64 -
`
	images := parseImages(table)
	if !containsAll(images, []string{"localhost/a:dev@sha256:11"}) {
		t.Errorf("got %v", images)
	}
	if containsAll(images, []string{"localhost/a:dev@sha256:22"}) || containsAll(images, nil) {
		t.Error("an image that is not there counts as there")
	}
}

// Package testtree unpacks captured machines for tests.
package testtree

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// Unpack writes a txtar archive's files below a directory of the test's own and returns that directory.
func Unpack(t testing.TB, archive []byte) string {
	t.Helper()
	tree, err := txtar.FS(txtar.Parse(archive))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, tree); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Load unpacks the archive in a file.
func Load(t testing.TB, file string) string {
	t.Helper()
	archive, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return Unpack(t, archive)
}

// LoadTar unpacks a compressed tar archive of small files below a directory of the test's own and returns that
// directory.
func LoadTar(t testing.TB, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	dir := t.TempDir()
	for archive := tar.NewReader(z); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err == nil {
			err = unpack(filepath.Join(dir, filepath.Clean("/"+entry.Name)), archive)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func unpack(file string, from io.Reader) error {
	content, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

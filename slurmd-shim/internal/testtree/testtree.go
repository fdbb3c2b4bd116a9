// Package testtree unpacks captured machines for tests.
package testtree

import (
	"os"
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

package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInstallGVisor(t *testing.T) {
	c := Open(t.TempDir(), t.TempDir())
	if err := os.Mkdir(c.Paths.Dir("tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"first", "later"} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "runsc"), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := c.installGVisor(bin); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(c.Paths.GVisor("runsc"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "first" {
			t.Errorf("after the installation of %q there is %q: a running cluster keeps what it has", content, got)
		}
	}
	info, err := os.Stat(c.Paths.GVisor("runsc"))
	if err != nil || info.Mode().Perm()&0o111 != 0o111 {
		t.Errorf("runsc is no program: %v, %v", info, err)
	}
}

func TestInstallGVisorFromNowhere(t *testing.T) {
	c := Open(t.TempDir(), t.TempDir())
	if err := c.installGVisor(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("what is not there was installed")
	}
	if _, err := os.Stat(c.Paths.GVisor("")); err == nil {
		t.Error("half an installation is in place")
	}
}

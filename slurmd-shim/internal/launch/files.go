// Package launch prepares what a daemon needs in a container without privileges, waits for what it depends
// on, and becomes it.
package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// OwnDir makes dir with exactly mode, its parents too. A directory of another uid is refused: Slurm and
// MUNGE want their own, and a volume is root's, so that theirs must be one level below it.
func OwnDir(dir string, mode fs.FileMode) error {
	if err := os.MkdirAll(dir, mode); err != nil {
		return exit.Configf("make directory %s: %w; mount a volume there that uid %d may write", dir, err, os.Getuid())
	}
	// Mkdir's mode is narrowed by the umask, and a volume's setgid bit is inherited.
	if err := os.Chmod(dir, mode); err != nil {
		return exit.Configf("make directory %s this process's own: %w; remove it, or run as the uid that owns it", dir, err)
	}
	return nil
}

// CopyKey copies a mounted key to a file that only this uid can read. Kubernetes mounts Secrets as root's
// and group readable, which daemons refuse.
func CopyKey(from, to string) error {
	key, err := readKey(from)
	if err != nil {
		return err
	}
	if err := OwnDir(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return WriteFile(to, key, 0o400)
}

// KeyChanged tells whether a mounted key is not the one that was copied. An error says why it cannot be used.
func KeyChanged(mounted, copied string) (bool, error) {
	key, err := readKey(mounted)
	if err != nil {
		return false, err
	}
	old, err := os.ReadFile(copied)
	if err != nil {
		return false, fmt.Errorf("read the copy of the key: %w", err)
	}
	return !bytes.Equal(key, old), nil
}

func readKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, exit.Configf("read the key %s: %w; mount the cluster's Secret at %s", path, err, filepath.Dir(path))
	}
	if len(key) < 32 {
		return nil, exit.Configf("the key %s has %d bytes and must have at least 32: write a longer one into the cluster's Secret", path, len(key))
	}
	return key, nil
}

// WriteFile writes a file under another name and then renames it, so that no reader sees a part of it and a
// read-only predecessor is no obstacle.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, errWrite := f.Write(content)
	err = errors.Join(errWrite, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// Spool makes slurmd's spool directory, and removes the machine description that an earlier slurmd kept in
// it or, before it knew its configuration, in the volume above: slurmd believes it, so that a volume that
// outlives a machine or a resize would lie.
func Spool(dir string) error {
	if err := OwnDir(dir, 0o755); err != nil {
		return err
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		stale, err := filepath.Glob(filepath.Join(d, "hwloc*.xml"))
		for _, f := range stale {
			err = errors.Join(err, os.Remove(f))
		}
		if err != nil {
			return fmt.Errorf("remove the stale machine description: %w", err)
		}
	}
	return nil
}

// NodeConf writes what slurm.conf includes in this pod only. Task plugins are the whole cluster's in slurm.conf,
// but a node whose CPUs are its own binds tasks and one that shares them must not. A node that binds has CPUs
// set aside that it may not use, on which slurmd would try to run itself without SlurmdOffSpec.
func NodeConf(path string, bind bool, more ...string) error {
	content := "TaskPlugin=task/none\n"
	if bind {
		content = "TaskPlugin=task/affinity\nTaskPluginParam=Cores,SlurmdOffSpec\n"
	}
	for _, line := range more {
		content += line + "\n"
	}
	return WriteFile(path, []byte(content), 0o644)
}

// GresConf writes what gres.conf includes in this pod only: its devices. It is there without any too, because Slurm
// would wait for it.
func GresConf(path string, lines []string) error {
	var content strings.Builder
	for _, line := range lines {
		fmt.Fprintln(&content, line)
	}
	return WriteFile(path, []byte(content.String()), 0o644)
}

// LinkConf makes link, where Slurm's commands look, point to the configuration that slurmd will fetch into
// its spool directory. slurmd does so itself only where it owns the directory of the link, which it does not
// own when that is a volume.
func LinkConf(spool, link string) error {
	return Link(link, filepath.Join(spool, "conf-cache"))
}

// Link makes link lead to a file, whatever it led to before: a container that is started again finds the links of the
// one before in its volumes.
func Link(link, to string) error {
	err := os.Remove(link)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Symlink(to, link)
	}
	if err != nil {
		return exit.Configf("link %s: %w; mount a volume at %s that uid %d may write", link, err, filepath.Dir(link), os.Getuid())
	}
	return nil
}

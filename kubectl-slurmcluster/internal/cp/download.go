package cp

import (
	"cmp"
	"context"
	_ "embed" // for send.sh
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

//go:embed send.sh
var send string

// exitMissing is an exit code of send.sh.
const exitMissing = 66

func (c *copier) download(ctx context.Context) error {
	destination, err := c.destination()
	if err != nil {
		return err
	}
	directory, name := filepath.Split(destination)
	parent, err := os.OpenRoot(cmp.Or(directory, "."))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }() // nothing was written to it
	temporary, err := os.MkdirTemp(parent.Name(), ".cp-*")
	if err != nil {
		return err
	}
	defer func() { _ = parent.RemoveAll(filepath.Base(temporary)) }()
	isDir, err := c.fetch(ctx, temporary)
	if err != nil {
		return err
	}
	switch info, err := parent.Stat(name); {
	case err == nil && info.IsDir() && !isDir:
		return fmt.Errorf("%s is a directory already; a file cannot take its place", destination)
	case err == nil && !info.IsDir() && isDir:
		return fmt.Errorf("%s is a file already; a directory cannot take its place", destination)
	}
	return move(parent, filepath.Base(temporary)+"/"+memberIt, name)
}

// destination is where the copy goes, without links on the way.
func (c *copier) destination() (string, error) {
	wanted := c.to.path
	if info, err := os.Stat(wanted); err == nil && info.IsDir() {
		wanted = filepath.Join(wanted, c.from.remoteBase(c.home))
	}
	if resolved, err := filepath.EvalSymlinks(wanted); err == nil {
		return filepath.Abs(resolved)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(wanted))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no directory %s on this machine", filepath.Dir(wanted))
	}
	return filepath.Join(parent, filepath.Base(wanted)), err
}

// fetch brings what is in the cluster into a directory and says whether that is a directory itself.
func (c *copier) fetch(ctx context.Context, into string) (bool, error) {
	root, err := os.OpenRoot(into)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }() // its files were closed one by one
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newMeter(c.env.ErrOut, c.from.String(), 0)
	defer m.stop()
	archive, out := io.Pipe()
	type result struct {
		isDir bool
		err   error
	}
	unpacked := make(chan result, 1)
	go func() {
		var r result
		if r.isDir, r.err = unpack(io.TeeReader(archive, m), root, m.warn); r.err != nil {
			cancel()
		}
		_, err := io.Copy(io.Discard, archive) // there is padding behind the end
		r.err = cmp.Or(r.err, err)
		unpacked <- r
	}()
	said := &firstWords{}
	err = c.cluster.Run(ctx, c.target, []string{"sh", "-c", send, "sh", c.home, c.from.path}, podexec.Streams{Out: out, Err: said})
	_ = out.Close() // of a pipe, it never fails
	r := <-unpacked
	if code, ran := podexec.ExitCode(err); ran && code == exitMissing {
		return false, c.missing()
	} else if ran {
		return false, fmt.Errorf("%s says: %s", c.target.Pod, said)
	}
	if errors.Is(err, context.Canceled) && r.err != nil {
		err = nil // because unpacking has failed
	}
	return r.isDir, cmp.Or(err, r.err)
}

func (c *copier) missing() error {
	if c.target == c.cluster.Controller() {
		return fmt.Errorf("%s has no such file or directory; if it is on a node's own disk, name the node with --node", c.target.Pod)
	}
	return fmt.Errorf("%s has no such file or directory", c.target.Pod)
}

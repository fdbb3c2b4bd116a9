package cp

import (
	"context"
	_ "embed" // for receive.sh
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

//go:embed receive.sh
var receive string

// Exit codes of receive.sh.
const (
	exitNoDirectory    = 67
	exitDirectoryThere = 68
	exitFileThere      = 69
)

func (c *copier) upload(ctx context.Context) error {
	info, err := os.Stat(c.from.path)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("there is no such file or directory on this machine")
	}
	if err != nil {
		return err
	}
	kind := "directory"
	if !info.IsDir() {
		if kind = "file"; !info.Mode().IsRegular() {
			return errors.New("it is no file or directory")
		}
	}
	name, err := c.from.localBase()
	if err != nil {
		return err
	}
	m := newMeter(c.env.ErrOut, c.from.path, sizeOf(c.from.path))
	defer m.stop()
	in, archive := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(io.MultiWriter(archive, m), c.from.path, m.warn)
		// An archive that ends early is thrown away on the other side.
		packed <- errors.Join(err, archive.Close())
	}()
	// Nothing is sent before the other side has said that it can take it.
	gate := &gate{open: make(chan struct{}), in: in}
	said := &firstWords{}
	err = c.cluster.Run(ctx, c.target, []string{"sh", "-c", receive, "sh", c.home, c.to.path, name, kind},
		podexec.Streams{In: gate, Out: gate, Err: said})
	_ = archive.Close() // of a pipe, it never fails
	gate.once.Do(func() { close(gate.open) })
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		return packErr
	}
	return c.explainUpload(err, said)
}

func (c *copier) explainUpload(err error, said *firstWords) error {
	code, ran := podexec.ExitCode(err)
	switch {
	case !ran:
		return err
	case code == exitNoDirectory:
		return fmt.Errorf("%s has no directory %s; make it first: %s", c.target.Pod, path.Dir(path.Join(c.home, c.to.path)),
			c.env.Hint("shell", c.cluster.Name))
	case code == exitDirectoryThere:
		return fmt.Errorf("%s has a directory of that name already; a file cannot take its place", c.target.Pod)
	case code == exitFileThere:
		return fmt.Errorf("%s has a file of that name already; a directory cannot take its place", c.target.Pod)
	}
	return fmt.Errorf("%s says: %s", c.target.Pod, said)
}

// gate lets reading begin when something is written to it.
type gate struct {
	in   io.Reader
	open chan struct{}
	once sync.Once
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	<-g.open
	return g.in.Read(p)
}

// Write implements io.Writer.
func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.open) })
	return len(p), nil
}

package cp

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Names in the archive that receive.sh takes. The last shows that all of it has come: where an archive ends early,
// tar may see nothing wrong.
const (
	memberIt    = "it"
	memberWhole = "whole"
)

// packer writes files of this machine into an archive.
type packer struct {
	tar *tar.Writer
	// warn says what is left out.
	warn func(sentence string)
}

// pack writes what is at root, which may be a link.
func pack(out io.Writer, root string, warn func(string)) error {
	p := &packer{tar: tar.NewWriter(out), warn: warn}
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(resolved, func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(resolved, file)
		if err != nil {
			return err
		}
		return p.add(file, path.Join(memberIt, filepath.ToSlash(relative)))
	})
	if err != nil {
		return err
	}
	if err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: memberWhole, Mode: 0o600}); err != nil {
		return err
	}
	return p.tar.Close()
}

func (p *packer) add(file, name string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch info.Mode().Type() {
	case fs.ModeDir:
		// One that its owner cannot write to could neither be filled nor removed.
		header.Typeflag, header.Mode = tar.TypeDir, header.Mode|0o700
	case fs.ModeSymlink:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = os.Readlink(file); err != nil {
			return err
		}
	case 0:
		return p.addFile(file, header)
	default:
		p.warn(fmt.Sprintf("%s is left out: it is no file, directory or link", file))
		return nil
	}
	return p.tar.WriteHeader(header)
}

// addFile adds as much of a file as there is when it is opened: it may grow or shrink meanwhile.
func (p *packer) addFile(file string, header *tar.Header) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	n, err := io.CopyN(p.tar, f, header.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while it was read (%d of %d bytes)", file, n, header.Size)
	}
	return err
}

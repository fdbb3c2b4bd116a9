package cp

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// unpacker writes an archive from a cluster into a new directory of this machine. Whoever has made the archive must
// not reach beyond that: os.Root keeps files in it, and links that lead out of it are not made.
type unpacker struct {
	root *os.Root
	// links are the names of the links that were made.
	links map[string]bool
	warn  func(sentence string)
}

// unpack puts what the archive holds to memberIt below the root and says whether that is a directory.
func unpack(in io.Reader, root *os.Root, warn func(string)) (isDir bool, err error) {
	u := &unpacker{root: root, links: map[string]bool{}, warn: warn}
	archive := tar.NewReader(in)
	for first := true; ; first = false {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && first:
			return false, errors.New("the archive is empty")
		case errors.Is(err, io.EOF):
			return isDir, nil
		case err != nil:
			return false, err
		}
		name := memberIt
		if first {
			isDir = header.Typeflag == tar.TypeDir
			if !isDir && header.Typeflag != tar.TypeReg {
				return false, errors.New("it is no file or directory")
			}
		} else if name, err = u.memberName(header.Name, isDir); err != nil {
			return false, err
		}
		if err := u.make(name, header, archive); err != nil {
			return false, err
		}
	}
}

// memberName is where a member of a directory goes. tar writes no member twice and none below a link.
func (u *unpacker) memberName(name string, isDir bool) (string, error) {
	inside := path.Clean(name)
	if !isDir || path.IsAbs(inside) || inside == ".." || strings.HasPrefix(inside, "../") {
		return "", fmt.Errorf("the archive has a member that does not belong there: %q", name)
	}
	full := path.Join(memberIt, inside)
	for parent := full; parent != "."; parent = path.Dir(parent) {
		if u.links[parent] {
			return "", fmt.Errorf("the archive has a member behind a link: %q", name)
		}
	}
	return full, nil
}

func (u *unpacker) make(name string, header *tar.Header, content io.Reader) error {
	mode := fs.FileMode(header.Mode).Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		// One that its owner cannot write to could neither be filled nor removed.
		if err := u.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		return u.root.Chmod(name, mode|0o700)
	case tar.TypeReg:
		return u.file(name, mode, header, content)
	case tar.TypeSymlink:
		if !staysInside(name, header.Linkname) {
			u.warn(fmt.Sprintf("link %s is left out: it leads to %s, out of what is copied", header.Name, header.Linkname))
			return nil
		}
		u.links[name] = true
		return u.root.Symlink(header.Linkname, name)
	default:
		u.warn(fmt.Sprintf("%s is left out: it is no file, directory or link", header.Name))
		return nil
	}
}

func (u *unpacker) file(name string, mode fs.FileMode, header *tar.Header, content io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = cmp.Or(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return u.root.Chtimes(name, header.ModTime, header.ModTime)
}

// staysInside says whether a link leads to something below memberIt. Its own directories are real, so ".." at the
// beginning is what it seems; behind a name it need not be, because that may be a link.
func staysInside(name, target string) bool {
	if path.IsAbs(target) {
		return false
	}
	rest := target
	for strings.HasPrefix(rest, "../") {
		rest = strings.TrimLeft(rest[len("../"):], "/")
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." && rest != ".." {
			return false
		}
	}
	reached := path.Join(path.Dir(name), target)
	return reached == memberIt || strings.HasPrefix(reached, memberIt+"/")
}

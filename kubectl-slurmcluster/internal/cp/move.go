package cp

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// move puts what is at from to the path to. Into a directory that exists, all files are moved one by one; what is
// there already stays, but for files of the same names. parent is the directory that both are in.
func move(parent *os.Root, from, to string) error {
	info, err := parent.Stat(to)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return parent.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return fs.WalkDir(parent.FS(), from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := path.Join(to, filepath.ToSlash(relative))
		if !entry.IsDir() {
			return parent.Rename(file, target)
		}
		return makeLike(parent, file, target)
	})
}

// makeLike makes a directory like another, unless there is one.
func makeLike(parent *os.Root, like, directory string) error {
	if info, err := parent.Stat(directory); err == nil && info.IsDir() {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // such as a link that leads out of the parent
	}
	info, err := parent.Stat(like)
	if err != nil {
		return err
	}
	if err := parent.Mkdir(directory, 0o700); err != nil {
		return err
	}
	return parent.Chmod(directory, info.Mode().Perm())
}

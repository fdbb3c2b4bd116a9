// Package terminals finds the shells of a container by their terminals, and writes into them.
package terminals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
)

// Dir is where the kernel lists the pseudo-terminals of a container.
const Dir = "/dev/pts"

// List lists the open pseudo-terminals: each shell of kubectl exec has one, and no daemon. dir is Dir, but in tests.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing terminals: %w", err)
	}
	var list []string
	for _, entry := range entries {
		if entry.Name() != "ptmx" {
			list = append(list, filepath.Join(dir, entry.Name()))
		}
	}
	return list, nil
}

// Write shows a line in every shell.
func Write(dir, text string) error {
	list, err := List(dir)
	if err != nil {
		return err
	}
	line := "\r\n" + Printable(text) + "\r\n"
	var errs []error
	for _, name := range list {
		// A terminal whose owner has stopped its output must not stop us.
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed since
		}
		if err == nil {
			_, err = f.WriteString(line)
			err = errors.Join(err, f.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Printable leaves out what a terminal would take for a command.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

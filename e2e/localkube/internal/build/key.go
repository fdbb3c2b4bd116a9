// Package build makes the programs and images of the cluster from source, and
// keeps them in a cache keyed by everything that goes into them.
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Key names a build by its content: same key, same programs.
func (p Part) Key(source string, toolchain Toolchain) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%+v\n%+v\n", toolchain, p.programs)
	for _, input := range p.inputs {
		if err := hashTree(hash, source, input); err != nil {
			return "", fmt.Errorf("computing the cache key: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func hashTree(hash io.Writer, source, input string) error {
	return filepath.WalkDir(filepath.Join(source, input), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // the project's own source
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(hash, "%s %x\n", filepath.ToSlash(name), sha256.Sum256(content))
		return err
	})
}

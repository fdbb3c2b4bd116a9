package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// staged is a copy of one configuration.
type staged struct {
	dir, hash string
	files     map[string]string
}

// readConfig returns the files of a mounted ConfigMap. Names that start with ".." are the kubelet's. The
// files are returned even when slurm.conf, without which nothing starts, is missing.
func readConfig(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") || e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
		files[e.Name()] = string(b)
	}
	if _, ok := files[contract.FileSlurmConf]; !ok {
		return files, fmt.Errorf("there is no %s in %s", contract.FileSlurmConf, dir)
	}
	return files, nil
}

// stage copies files to a directory of their own below RunDir, and removes directories that are neither
// this one nor in use.
func (a *Agent) stage(files map[string]string) (staged, error) {
	s := staged{hash: contract.ConfigHash(files), files: files}
	s.dir = filepath.Join(a.RunDir, "served."+s.hash[:16])
	old, err := filepath.Glob(filepath.Join(a.RunDir, "served.*"))
	if err != nil {
		return s, fmt.Errorf("look for old configurations: %w", err)
	}
	for _, dir := range old {
		if dir != a.current.dir && dir != a.previous.dir {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err == nil {
		err = launch.OwnDir(s.dir, 0o755)
	}
	for name, content := range files {
		if err == nil {
			err = launch.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o644)
		}
	}
	if err != nil {
		return s, fmt.Errorf("copy the configuration: %w", err)
	}
	return s, nil
}

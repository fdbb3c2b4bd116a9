package agent

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// staged is a copy of one configuration.
type staged struct {
	dir, hash string
	files     map[string]string
}

// readConfig returns the files of a mounted ConfigMap, even when slurm.conf, without which nothing starts, is
// missing. The kubelet keeps each version of the files in a directory that ..data points to; that link is
// followed once, so that all files are of one version.
func readConfig(mount string) (map[string]string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(mount, "..data"))
	if errors.Is(err, os.ErrNotExist) {
		dir, err = mount, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
		files[e.Name()] = string(b)
	}
	if _, ok := files[contract.FileSlurmConf]; !ok {
		return files, fmt.Errorf("there is no %s in %s", contract.FileSlurmConf, mount)
	}
	return files, nil
}

// stage copies files to a directory of their own below RunDir, with slurmctld's Threads, and removes directories that are neither
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
		if name == contract.FileSlurmConf {
			content = withThreads(content, a.Threads)
		}
		if err == nil {
			err = launch.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o644)
		}
	}
	if err != nil {
		return s, fmt.Errorf("copy the configuration: %w", err)
	}
	return s, nil
}

func (a *Agent) served() string { return filepath.Join(a.RunDir, "served") }

// use points RunDir/served at a staged configuration, all files at once, and reports it as the running one, to which
// slurmctld comes in some way.
func (a *Agent) use(s staged, by contract.AppliedBy) error {
	tmp := a.served() + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace the configuration: %w", err)
	}
	if err := os.Symlink(filepath.Base(s.dir), tmp); err != nil {
		return fmt.Errorf("replace the configuration: %w", err)
	}
	if err := os.Rename(tmp, a.served()); err != nil {
		return fmt.Errorf("replace the configuration: %w", err)
	}
	if err := a.publish(s); err != nil {
		return err
	}
	a.current = s
	st := a.Status()
	st.RunningHash, st.AppliedBy = s.hash, by
	a.setStatus(st)
	return nil
}

// publish gives clients in this pod the configuration that slurmctld runs with. They do not read the
// ConfigMap: it may hold one that slurmctld has refused, and then no command would work.
func (a *Agent) publish(s staged) error {
	files := maps.Clone(s.files)
	if local, ok := files[contract.FileSlurmConfLocal]; ok {
		files[contract.FileSlurmConf] = local
		delete(files, contract.FileSlurmConfLocal)
	}
	for name, content := range files {
		if err := launch.WriteFile(filepath.Join(a.ClientDir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("copy the configuration for clients: %w", err)
		}
	}
	return nil
}

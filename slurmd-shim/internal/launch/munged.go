package launch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

// mungeThreads is what slurmctld asks for when it finds a munged with fewer.
const mungeThreads = "10"

// Munged is where munged finds and keeps its files.
type Munged struct {
	// Key is the mounted key.
	Key string
	// Socket is the path of the socket; its directory is made.
	Socket string
	// Private are directories to try, in order, for one of munged's own that no other container sees: for
	// the copy of the key, the process id and the random seed.
	Private []string
}

// Prepare makes the directories, copies the key and removes what a killed predecessor left behind. It
// returns munged's argv.
func (m Munged) Prepare(ctx context.Context) ([]string, error) {
	private, err := m.copyKey()
	if err != nil {
		return nil, err
	}
	if err := OwnDir(filepath.Dir(m.Socket), 0o755); err != nil {
		return nil, err
	}
	if err := m.removeStale(ctx); err != nil {
		return nil, err
	}
	argv := []string{
		"munged", "--foreground", "--socket=" + m.Socket, "--num-threads=" + mungeThreads,
		"--key-file=" + filepath.Join(private, contract.KeyMunge),
		"--pid-file=" + filepath.Join(private, "munged.pid"),
		"--seed-file=" + filepath.Join(private, "munged.seed"),
	}
	if openTree(filepath.Dir(m.Socket)) || openTree(private) {
		// munged refuses to start below a directory that others may write, and the kubelet makes every
		// emptyDir so; who may write it is decided by which containers mount it.
		argv = append(argv, "--force")
	}
	return argv, nil
}

// KeyChanged tells whether the mounted key is not the one that Prepare copied. An error says why the mounted one cannot
// be used.
func (m Munged) KeyChanged() (bool, error) {
	for _, parent := range m.Private {
		copied := filepath.Join(parent, "munged", contract.KeyMunge)
		if _, err := os.Stat(copied); err == nil {
			return KeyChanged(m.Key, copied)
		}
	}
	return true, nil
}

// copyKey copies the key into the first private directory that can be written.
func (m Munged) copyKey() (string, error) {
	var errs error
	for _, parent := range m.Private {
		dir := filepath.Join(parent, "munged")
		err := OwnDir(dir, 0o700)
		if err == nil {
			return dir, CopyKey(m.Key, filepath.Join(dir, contract.KeyMunge))
		}
		errs = errors.Join(errs, err)
	}
	return "", exit.Configf("find a directory for munged's copy of the key: %w", errs)
}

// removeStale removes the socket and lock of a munged that is gone. One that answers is left alone:
// munged itself says that it is there.
func (m Munged) removeStale(ctx context.Context) error {
	if Knock(ctx, "unix", reachable(m.Socket)) == nil {
		return nil
	}
	for _, f := range []string{m.Socket, m.Socket + ".lock"} {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exit.Configf("remove what a killed munged left behind: %w; delete it", err)
		}
	}
	return nil
}

// openTree says whether dir or a parent may be written by others without being sticky.
func openTree(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

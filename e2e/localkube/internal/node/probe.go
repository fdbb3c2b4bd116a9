package node

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/components"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// probeHost finds out what the machine lets us do, by doing it.
func probeHost(o layout.Options) (components.Host, error) {
	overlay, err := canOverlay(o.Dir("probe"))
	if err != nil {
		return components.Host{}, err
	}
	return components.Host{Overlay: overlay, LowerOOMScores: canLowerOOMScore()}, nil
}

// canOverlay tries an overlay mount; some filesystems cannot carry one.
func canOverlay(dir string) (bool, error) {
	defer os.RemoveAll(dir)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return false, fmt.Errorf("probing for overlay mounts: %w", err)
		}
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	merged := filepath.Join(dir, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return false, nil
	}
	if err := unix.Unmount(merged, 0); err != nil {
		return false, fmt.Errorf("unmounting the overlay probe: %w", err)
	}
	return true, nil
}

// canLowerOOMScore: going below one's own score takes CAP_SYS_RESOURCE.
func canLowerOOMScore() bool {
	const file = "/proc/self/oom_score_adj"
	before, err := os.ReadFile(file)
	if err != nil || os.WriteFile(file, []byte("-1000"), 0o644) != nil {
		return false
	}
	return os.WriteFile(file, before, 0o644) == nil
}

package launch

import (
	"context"
	"log/slog"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Sack is Slurm's own authentication, auth/slurm: each daemon signs with the cluster's key, and lets the programs of its
// container sign at a socket, its "sack". Without a key, there is a munged for that.
type Sack struct {
	// Key is the mounted key, or empty. Slurm takes a file that root owns and that others may not read, as Secrets are.
	Key string
}

// Ready checks the key, or waits for munged's socket.
func (s Sack) Ready(ctx context.Context, log *slog.Logger, mungeSocket string) error {
	if s.Key == "" {
		return WaitFor(ctx, log, "munged", "unix", reachable(mungeSocket))
	}
	_, err := readKey(s.Key)
	return err
}

// Hash is the contract.KeyHash of the key; empty if there is none.
func (s Sack) Hash() (string, error) {
	if s.Key == "" {
		return "", nil
	}
	key, err := readKey(s.Key)
	if err != nil {
		return "", err
	}
	return contract.KeyHash(key), nil
}

// Env tells a daemon of Slurm where the key is (auth/slurm's init_internal).
func (s Sack) Env() []string {
	if s.Key == "" {
		return nil
	}
	return []string{"SLURM_SACK_KEY=" + s.Key}
}

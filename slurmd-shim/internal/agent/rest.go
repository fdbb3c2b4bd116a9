package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/launch"
)

// restEnd is how long slurmrestd may take to end.
const restEnd = 5 * time.Second

// runSlurmrestd runs slurmrestd on a socket that only this container has, until ctx ends.
func (a *Agent) runSlurmrestd(ctx context.Context) error {
	if err := os.Remove(a.RestSocket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Configf("remove what a killed slurmrestd left behind: %w; delete it", err)
	}
	c := exec.CommandContext(ctx, a.Slurmrestd[0], slices.Concat(a.Slurmrestd[1:], []string{"unix:" + a.RestSocket})...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	// SLURM_JWT keeps slurmrestd from needing a munged. A pod's seccomp profile does not let it unshare namespaces, and the
	// container has its own already. Slurm advises against running it as SlurmUser, since anybody may speak to it: here, only
	// who has a token, and that is the cluster's only user, who is SlurmUser. Each request is worth a line to it below 2, errors.
	c.Env = launch.Env("SLURM_JWT=daemon", "MALLOC_ARENA_MAX=1", "SLURMRESTD_DEBUG=error",
		"SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files,disable_user_check")
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = restEnd
	if err := c.Start(); err != nil {
		return exit.Configf("start slurmrestd: %w; the image must hold it", err)
	}
	return c.Wait()
}

// RestHandler hands requests with a token of the cluster's to slurmrestd, which looks at the token once more. What comes without
// one does not reach it.
func (a *Agent) RestHandler() http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "slurmrestd"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", a.RestSocket)
	}}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, fmt.Sprintf("slurmrestd does not answer: %v", err), http.StatusBadGateway)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := a.claims(r); err != nil {
			unauthorized(w, err)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

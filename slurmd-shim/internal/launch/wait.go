package launch

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

const (
	// knockEvery is the shortest time between two knocks, and knockShare the part of the time waited so far that there may be
	// between them, up to knockSeldom: where many pods start at once, those that wait leave the CPUs to the others.
	knockEvery   = 20 * time.Millisecond
	knockShare   = 10
	knockSeldom  = 500 * time.Millisecond
	knockTimeout = 250 * time.Millisecond
	reportEvery  = 5 * time.Second
)

// WaitFor knocks at a socket until something accepts there, at first every 20 ms and then more and more seldom, and logs every few
// seconds what it waits for and why the last knock failed. There is no end to the waiting but ctx: the kubelet decides when
// a pod has waited long enough. network is "tcp" or "unix"; who is what answers there. Its error
// is the one of a process that SIGTERM ended.
func WaitFor(ctx context.Context, log *slog.Logger, who, network, address string) error {
	return wait(ctx, log, who+" at "+address, func() error { return Knock(ctx, network, address) })
}

// WaitForFile looks for a file, in the manner of WaitFor.
func WaitForFile(ctx context.Context, log *slog.Logger, path string) error {
	return wait(ctx, log, path, func() error {
		_, err := os.Stat(path)
		return err
	})
}

func wait(ctx context.Context, log *slog.Logger, who string, look func() error) error {
	start := time.Now()
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	for {
		err := look()
		if err == nil {
			log.Info("found "+who, "waited", time.Since(start).Round(time.Millisecond).String())
			return nil
		}
		select {
		case <-ctx.Done():
			return &exit.Error{
				Code: exit.Signal(syscall.SIGTERM),
				Err:  fmt.Errorf("stopped while waiting for %s: %w", who, err),
			}
		case <-report.C:
			log.Info("waiting for "+who, "waited", time.Since(start).Round(time.Second).String(), "because", err.Error())
		case <-time.After(min(max(knockEvery, time.Since(start)/knockShare), knockSeldom)):
		}
	}
}

// Knock connects once and hangs up; nil means that something accepts there.
func Knock(ctx context.Context, network, address string) error {
	d := net.Dialer{Timeout: knockTimeout}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

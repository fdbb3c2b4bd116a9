package enforcer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// watchSandboxes raises a signal whenever a pod got an address or gave it back, until the context ends. The kubelet
// tells the API server up to a second after the pod's containers began.
func watchSandboxes(ctx context.Context, directory string, changed signal) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("making the directory of sandboxes: %w", err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching sandboxes: %w", err)
	}
	if err := watcher.Add(directory); err != nil {
		watcher.Close()
		return fmt.Errorf("watching sandboxes: %w", err)
	}
	go func() {
		defer watcher.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-watcher.Events:
			case err := <-watcher.Errors: // events may be lost; to look again, none is needed
				log.Printf("watching sandboxes: %v", err)
			}
			changed.raise()
		}
	}()
	return nil
}

// sandbox is what libcni notes of a network that it made (cachedInfo in its api.go), as far as it matters here.
type sandbox struct {
	Args   [][2]string `json:"cniArgs"`
	Result struct {
		IPs []struct {
			Address netip.Prefix `json:"address"`
		} `json:"ips"`
	} `json:"result"`
}

// readSandboxes returns the addresses of pods by their UIDs. What vanishes meanwhile, or is half written, counts next
// time: it raises the signal again.
func readSandboxes(directory string) (map[types.UID][]netip.Addr, error) {
	files, err := filepath.Glob(filepath.Join(directory, layout.NodeName+"-*"))
	if err != nil {
		return nil, fmt.Errorf("listing sandboxes: %w", err)
	}
	addresses := map[types.UID][]netip.Addr{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading a sandbox: %w", err)
		}
		var s sandbox
		if json.Unmarshal(data, &s) != nil {
			continue
		}
		for _, arg := range s.Args {
			if arg[0] == "K8S_POD_UID" {
				addresses[types.UID(arg[1])] = append(addresses[types.UID(arg[1])], s.addresses()...)
			}
		}
	}
	return addresses, nil
}

func (s sandbox) addresses() []netip.Addr {
	var all []netip.Addr
	for _, ip := range s.Result.IPs {
		all = append(all, ip.Address.Addr())
	}
	return all
}

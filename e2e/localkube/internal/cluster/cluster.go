// Package cluster starts, checks and removes the whole cluster from the host.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/control"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/proc"
)

const (
	// marker tells our own directories from any that `down` must not remove.
	marker   = ".localkube"
	initFile = "init.json"
)

// Cluster is the one localkube of this host, running or not.
type Cluster struct{ Paths layout.Paths }

// Open finds the cluster. The build it runs is known only once it was started.
func Open(state, run string) Cluster {
	c := Cluster{Paths: layout.Paths{State: state, Run: run}}
	if options, err := layout.LoadOptions(state); err == nil {
		c.Paths.Bin = options.Bin
	}
	return c
}

// Init returns pid 1 of the cluster as the host sees it, if it lives.
func (c Cluster) Init() (proc.ID, bool) {
	var id proc.ID
	data, err := os.ReadFile(c.Paths.Dir(initFile))
	if err != nil || json.Unmarshal(data, &id) != nil {
		return id, false
	}
	return id, id.Alive()
}

func (c Cluster) saveInit(id proc.ID) error {
	data, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("encoding the process id: %w", err)
	}
	if err := os.WriteFile(c.Paths.Dir(initFile), data, 0o644); err != nil {
		return fmt.Errorf("recording the cluster's first process: %w", err)
	}
	return nil
}

// Control talks to pid 1 of the cluster.
func (c Cluster) Control() *control.Client { return control.NewClient(c.Paths.Control()) }

// Client talks to the API server as administrator.
func (c Cluster) Client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Paths.AdminKubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the admin kubeconfig: %w", err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

// directories below the state directory that are there before pid 1 starts.
var directories = []string{
	"logs", "config", "pki", "kubeconfigs", "cni", "sysctl", "tmp", "volumes", "pods", "loaded",
}

// makeDirectories makes the state and run directories, marked as ours.
func (c Cluster) makeDirectories() error {
	for _, root := range []string{c.Paths.State, c.Paths.Run} {
		if err := os.MkdirAll(root, 0o711); err != nil {
			return fmt.Errorf("making %s: %w", root, err)
		}
		if err := checkOurs(root); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, marker), nil, 0o644); err != nil {
			return fmt.Errorf("marking %s as ours: %w", root, err)
		}
	}
	for _, name := range directories {
		mode := os.FileMode(0o755)
		if name == "pki" || name == "kubeconfigs" {
			mode = 0o700
		}
		if err := os.MkdirAll(c.Paths.Dir(name), mode); err != nil {
			return fmt.Errorf("making the state directory: %w", err)
		}
	}
	return nil
}

// checkOurs refuses a directory with somebody else's files.
func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking into %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err == nil || len(entries) == 0 {
		return nil
	}
	return fmt.Errorf("%s has files that are not localkube's: choose another directory", dir)
}

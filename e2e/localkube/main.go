// Command localkube runs a real single-node Kubernetes, built from Go modules,
// inside namespaces of its own. See README.md.
package main

import (
	"os"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cli"
)

func main() { os.Exit(cli.Main()) }

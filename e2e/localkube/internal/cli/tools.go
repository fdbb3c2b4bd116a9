package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// hostTools maps each program that we run, or that Kubernetes does, to the
// Debian package that has it.
var hostTools = map[string]string{
	"iptables":  "iptables",
	"ip":        "iproute2",
	"conntrack": "conntrack",
	"nft":       "nftables",
	"mount":     "mount",
	"nsenter":   "util-linux",
}

// checkTools says which Debian packages are missing.
func checkTools() error {
	var missing []string
	for tool, debian := range hostTools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, debian)
		}
	}
	if _, err := os.Stat(filepath.Join(layout.CNIPlugins, "ptp")); err != nil {
		missing = append(missing, "containernetworking-plugins")
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("host tools are missing: run `apt-get install %s`", strings.Join(missing, " "))
}

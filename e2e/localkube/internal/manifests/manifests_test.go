package manifests

import (
	"strings"
	"testing"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/images"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// The manifest spells out addresses and names that are decided elsewhere.
func TestSystemAgreesWithLayout(t *testing.T) {
	wanted := []string{
		"image: " + images.CoreDNS.Reference() + "\n",
		"clusterIP: " + layout.DNSServiceIP,
		"KUBERNETES_SERVICE_HOST, value: " + layout.NodeIP + "}",
		layout.Domain + ":53",
	}
	for _, text := range wanted {
		if !strings.Contains(string(System), text) {
			t.Errorf("system.yaml does not say %q", text)
		}
	}
}

func TestGVisorAgreesWithLayout(t *testing.T) {
	for _, text := range []string{"metadata: {name: " + GVisorClass + "}\n", "handler: " + layout.GVisorRuntime + "\n"} {
		if !strings.Contains(string(GVisor), text) {
			t.Errorf("gvisor.yaml does not say %q", text)
		}
	}
}

package enforcer

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// note is what libcni notes, without what nobody reads here.
func note(uid, address string) string {
	return `{"kind":"cniCacheV1","containerId":"027a","config":"e30=","ifName":"eth0","networkName":"localkube",
"cniArgs":[["IgnoreUnknown","1"],["K8S_POD_NAMESPACE","a"],["K8S_POD_NAME","db"],["K8S_POD_UID","` + uid + `"]],
"capabilityArgs":{"cgroupPath":"/localkube"},
"result":{"cniVersion":"1.0.0","ips":[{"address":"` + address + `","gateway":"10.244.0.1","interface":1}]}}`
}

func TestReadSandboxes(t *testing.T) {
	directory := t.TempDir()
	for name, content := range map[string]string{
		"localkube-1-eth0":    note("db", "10.244.0.2/16"),
		"localkube-2-eth0":    note("db", "10.244.0.3/16"),
		"localkube-3-eth0":    note("frontend", "10.244.0.4/16"),
		"localkube-4-eth0":    note("half", "10.244.0.5/16")[:100],
		"localkube-5-eth0":    "",
		"cni-loopback-1-eth0": note("db", "127.0.0.1/8"),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readSandboxes(directory)
	if err != nil {
		t.Fatal(err)
	}
	want := map[types.UID][]netip.Addr{
		"db":       {netip.MustParseAddr("10.244.0.2"), netip.MustParseAddr("10.244.0.3")},
		"frontend": {netip.MustParseAddr("10.244.0.4")},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWatchSandboxes(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "cni", "results")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed := newSignal()
	if err := watchSandboxes(ctx, directory, changed); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(directory, "localkube-1-eth0")
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"an address is given", func() error { return os.WriteFile(file, []byte(note("db", "10.244.0.2/16")), 0o600) }},
		{"it is given back", func() error { return os.Remove(file) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: no signal", step.what)
		}
		time.Sleep(debounce)
		changed.lower()
	}
}

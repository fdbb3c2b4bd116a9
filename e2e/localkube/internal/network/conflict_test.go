package network

import (
	"net"
	"strings"
	"testing"
)

func TestFindConflict(t *testing.T) {
	const ours = "10.96.0.0/16"
	for _, test := range []struct {
		name, use string
		conflict  bool
	}{
		{"elsewhere", "192.0.2.7/24", false},
		{"wider route", "10.0.0.0/8", false},
		{"wider, with an address of ours", "10.96.3.4/8", true},
		{"wider, with an address elsewhere", "10.1.3.4/8", false},
		{"the same", "10.96.0.0/16", true},
		{"narrower", "10.96.7.0/24", true},
		{"one address", "10.96.0.1/32", true},
		{"default route", "0.0.0.0/0", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ip, ipnet, err := net.ParseCIDR(test.use)
			if err != nil {
				t.Fatal(err)
			}
			used := use{&net.IPNet{IP: ip, Mask: ipnet.Mask}, "the route to " + test.use}
			err = findConflict([]use{used}, []string{ours})
			if (err != nil) != test.conflict {
				t.Fatalf("got %v, want conflict: %t", err, test.conflict)
			}
			if err != nil && (!strings.Contains(err.Error(), test.use) || !strings.Contains(err.Error(), ours)) {
				t.Errorf("%q does not name both ranges", err)
			}
		})
	}
}

// Package firewall makes the kernel enforce the rules of package policy.
//
// The rules are a table of nftables in the network namespace of whoever calls, which must be the node's: there, every
// packet between pods is forwarded. They are at the hook of forwarded packets. kube-proxy has translated a Service's
// address into a pod's before that (prerouting), and hides who sends only after (postrouting), so rules see pods as
// they are. What a node sends to its pods, and they to it, is not forwarded, hence not filtered.
package firewall

import (
	"context"
	"fmt"

	"sigs.k8s.io/knftables"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

// tableName is what `nft list table ip network-policy` shows.
const tableName = "network-policy"

// Firewall is our table in the kernel.
type Firewall struct{ nft knftables.Interface }

// Open fails where nftables cannot be programmed: without the program nft, without root, or on an old kernel.
func Open() (Firewall, error) {
	nft, err := knftables.New(knftables.IPv4Family, tableName, knftables.EmulateDestroy)
	if err != nil {
		return Firewall{}, fmt.Errorf("looking for nftables (is the Debian package nftables installed?): %w", err)
	}
	return Firewall{nft}, nil
}

// Replace puts rules in place of whatever rules there were, in one transaction: every packet meets the old ones or the
// new ones, and an error leaves the old ones.
func (f Firewall) Replace(ctx context.Context, rules policy.Rules) error {
	tx := f.nft.NewTransaction()
	tx.Destroy(&knftables.Table{})
	render(tx, rules)
	if err := f.nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("programming nftables: %w", err)
	}
	return nil
}

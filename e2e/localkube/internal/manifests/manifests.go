// Package manifests holds what `up` puts into a fresh cluster: DNS and the
// default StorageClass.
package manifests

import (
	_ "embed"
)

// System is applied with server-side apply, again and again.
//
//go:embed system.yaml
var System []byte

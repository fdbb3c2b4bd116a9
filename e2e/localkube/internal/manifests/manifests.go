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

// GVisor is applied where `up --gvisor` was asked for.
//
//go:embed gvisor.yaml
var GVisor []byte

// GVisorClass is the name of the RuntimeClass in GVisor.
const GVisorClass = "gvisor"

// Package pki makes the cluster's certificates and kubeconfigs.
package pki

import (
	"crypto/x509/pkix"
	"fmt"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// Create writes all certificates, keys and kubeconfigs into the state directory.
func Create(paths layout.Paths) error {
	ca, err := newAuthority(paths)
	if err != nil {
		return fmt.Errorf("making the certificate authority: %w", err)
	}
	for name, subject := range serving {
		if err := ca.issueServing(name, subject); err != nil {
			return fmt.Errorf("making the serving certificate of %s: %w", name, err)
		}
	}
	if err := ca.writeServiceAccountKeys(); err != nil {
		return fmt.Errorf("making the service account keys: %w", err)
	}
	for name, subject := range apiServerClients {
		if err := ca.issueClient(name, subject); err != nil {
			return fmt.Errorf("making the client certificate of %s: %w", name, err)
		}
	}
	for name, subject := range clients {
		if err := ca.writeKubeconfig(name, subject); err != nil {
			return fmt.Errorf("making the kubeconfig of %s: %w", name, err)
		}
	}
	return nil
}

// FrontProxy is the only name that may speak for other users.
const FrontProxy = "front-proxy-client"

// serving lists the names and addresses each server answers to.
var serving = map[string][]string{
	"apiserver": {
		layout.NodeIP, layout.APIServiceIP, "127.0.0.1", "localhost", layout.NodeName,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + layout.Domain,
	},
	"kubelet": {layout.NodeIP, layout.NodeName},
}

// clients lists who each client is to the API server.
var clients = map[string]pkix.Name{
	"admin":                   {CommonName: "localkube-admin", Organization: []string{"system:masters"}},
	"storage-provisioner":     {CommonName: "localkube-storage-provisioner", Organization: []string{"system:masters"}},
	"network-policy":          {CommonName: "localkube-network-policy", Organization: []string{"system:masters"}},
	"kube-controller-manager": {CommonName: "system:kube-controller-manager"},
	"kube-scheduler":          {CommonName: "system:kube-scheduler"},
	"kube-proxy":              {CommonName: "system:kube-proxy"},
	"kubelet":                 {CommonName: "system:node:" + layout.NodeName, Organization: []string{"system:nodes"}},
}

// apiServerClients are who the API server itself is, to kubelets and to
// aggregated API servers.
var apiServerClients = map[string]pkix.Name{
	"apiserver-kubelet": {CommonName: "localkube-apiserver", Organization: []string{"system:masters"}},
	"front-proxy":       {CommonName: FrontProxy},
}

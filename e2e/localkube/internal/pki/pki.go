// Package pki makes the cluster's certificates and kubeconfigs.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// lifetime is long: a localkube is thrown away, never renewed.
const lifetime = 10 * 365 * 24 * time.Hour

// authority is the one CA that signs everything.
type authority struct {
	paths layout.Paths
	cert  *x509.Certificate
	key   crypto.Signer
}

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

func newAuthority(paths layout.Paths) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "localkube-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	ca := &authority{paths: paths, cert: template, key: key}
	der, err := ca.sign(template, key.Public())
	if err != nil {
		return nil, err
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return ca, ca.writePair("ca", der, key)
}

// sign fills in what all certificates have in common, and signs.
func (ca *authority) sign(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	// A host's clock may be set back a little between runs.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(lifetime)
	return x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
}

func (ca *authority) issueServing(name string, hosts []string) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "localkube-" + name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return ca.issue(name, template)
}

func (ca *authority) issueClient(name string, subject pkix.Name) error {
	return ca.issue(name+"-client", &x509.Certificate{
		Subject:     subject,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (ca *authority) issue(name string, template *x509.Certificate) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	der, err := ca.sign(template, key.Public())
	if err != nil {
		return err
	}
	return ca.writePair(name, der, key)
}

func (ca *authority) writePair(name string, der []byte, key crypto.Signer) error {
	if err := writePEM(ca.paths.PKI(name+".crt"), "CERTIFICATE", der, 0o644); err != nil {
		return err
	}
	return writeKey(ca.paths.PKI(name+".key"), key)
}

func (ca *authority) writeServiceAccountKeys() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(ca.paths.PKI("sa.pub"), "PUBLIC KEY", public, 0o644); err != nil {
		return err
	}
	return writeKey(ca.paths.PKI("sa.key"), key)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func writeKey(path string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode os.FileMode) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}

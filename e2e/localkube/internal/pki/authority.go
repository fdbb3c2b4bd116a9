package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
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

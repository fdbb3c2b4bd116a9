package pki

import (
	"crypto/x509/pkix"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/layout"
)

// writeKubeconfig issues a client certificate and puts it, embedded, into a
// kubeconfig: such a file can be copied anywhere on the host and still works.
func (ca *authority) writeKubeconfig(name string, subject pkix.Name) error {
	if err := ca.issueClient(name, subject); err != nil {
		return err
	}
	const cluster = layout.NodeName
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{
		Server:               layout.APIServer,
		CertificateAuthority: ca.paths.PKI("ca.crt"),
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificate: ca.paths.PKI(name + "-client.crt"),
		ClientKey:         ca.paths.PKI(name + "-client.key"),
	}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: name}
	config.CurrentContext = cluster
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return err
	}
	path := ca.paths.Kubeconfig(name)
	if name == "admin" {
		path = ca.paths.AdminKubeconfig()
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

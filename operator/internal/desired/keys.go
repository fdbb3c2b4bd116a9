package desired

import (
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Lengths of the keys in bytes: munge takes 32 to 1024, JWT's HS256 uses no more than its block of 64.
const (
	mungeKeyBytes = 128
	jwtKeyBytes   = 64
)

// NewKeys makes a cluster's keys.
func NewKeys() map[string][]byte {
	munge, jwt := make([]byte, mungeKeyBytes), make([]byte, jwtKeyBytes)
	// crypto/rand.Read never fails: it ends the program instead.
	_, _ = rand.Read(munge)
	_, _ = rand.Read(jwt)
	return map[string][]byte{contract.KeyMunge: munge, contract.KeyJWT: jwt}
}

// Secret holds a cluster's keys. Daemons notice when they change.
func Secret(c Cluster, keys map[string][]byte) *corev1ac.SecretApplyConfiguration {
	ac := corev1ac.Secret(c.SecretName(), c.Object.Namespace).
		WithLabels(c.labels("")).
		WithOwnerReferences(c.owner()).
		WithType(corev1.SecretTypeOpaque).
		WithData(keys)
	if rotation := c.Object.Annotations[contract.AnnotationRotateKeys]; rotation != "" {
		ac.WithAnnotations(map[string]string{contract.AnnotationRotateKeys: rotation})
	}
	return ac
}

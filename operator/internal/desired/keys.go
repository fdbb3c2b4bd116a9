package desired

import (
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

// Lengths of the keys in bytes: munge takes 32 to 1024, HS256, with which Slurm signs, uses no more than its block of 64.
const (
	mungeKeyBytes = 128
	hs256KeyBytes = 64
)

// NewKeys makes a cluster's keys: one for tokens, and one by which its daemons know each other.
func NewKeys(auth v1alpha1.AuthType) map[string][]byte {
	keys := map[string][]byte{contract.KeyJWT: random(hs256KeyBytes)}
	if auth == v1alpha1.AuthSlurm {
		keys[contract.KeySlurm] = random(hs256KeyBytes)
	} else {
		keys[contract.KeyMunge] = random(mungeKeyBytes)
	}
	return keys
}

func random(length int) []byte {
	key := make([]byte, length)
	_, _ = rand.Read(key) // it never fails: it ends the program instead
	return key
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

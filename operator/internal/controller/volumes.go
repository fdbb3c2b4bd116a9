package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// volumesTrust is how long what a ready cluster's volumes refer to is taken to be as it was. Watching would need the
// right to read all Secrets.
const volumesTrust = 30 * time.Second

// checkVolumes looks for what spec.volumes refers to: of a missing claim or ConfigMap, Kubernetes would only
// tell in a pod's events. It also looks at the contents that running pods do not see change: the kubelet refreshes
// mounted ConfigMaps and Secrets, but not those of which a part is mounted (subPath). Pods with older ones are replaced.
func (s *scope) checkVolumes(ctx context.Context) error {
	m := &s.memory.volumes
	if s.ready() && m.generation == s.cluster.Generation && s.Clock.Since(m.seen) < volumesTrust {
		s.problems = append(s.problems, m.problems...)
		s.want.VolumesHash = m.hash
		return nil
	}
	var problems []status.Problem
	contents := map[string]any{}
	for _, v := range s.cluster.Spec.Volumes {
		if v.Image != nil && !s.ImageVolumes {
			problems = append(problems, status.Problem{Reason: v1alpha1.ReasonVolumeUnavailable, Message: fmt.Sprintf(
				"spec.volumes %q is an image, and this Kubernetes mounts none (image volumes came with 1.33, where they are a feature gate, or "+
					"the operator runs with imageVolumes: never): put its files on a claim", v.Name)})
		}
		kind, name, o, optional := referent(v)
		if o == nil || optional && v.SubPath == "" {
			continue
		}
		err := s.Reader.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: name}, o)
		switch {
		case apierrors.IsNotFound(err) && !optional:
			problems = append(problems, status.Problem{Reason: v1alpha1.ReasonVolumeUnavailable, Message: fmt.Sprintf(
				"spec.volumes %q refers to %s %q, which is not in namespace %s; create it or change the name", v.Name, kind, name, s.cluster.Namespace)})
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("looking for %s %s of volume %s: %w", kind, name, v.Name, err)
		}
		if v.SubPath != "" {
			contents[v.Name] = contentOf(o)
		}
	}
	m.seen, m.generation, m.problems, m.hash = s.Clock.Now(), s.cluster.Generation, problems, hashOf(contents)
	s.problems = append(s.problems, problems...)
	s.want.VolumesHash = m.hash
	return nil
}

// volumes is what was last seen of what a cluster's volumes refer to.
type volumes struct {
	seen       time.Time
	generation int64
	problems   []status.Problem
	hash       string
}

// contentOf is what a pod sees of a ConfigMap or Secret; nil for claims.
func contentOf(o client.Object) any {
	switch o := o.(type) {
	case *corev1.ConfigMap:
		return []any{o.Data, o.BinaryData}
	case *corev1.Secret:
		return o.Data
	}
	return nil
}

// hashOf is empty where no volume has contents that count.
func hashOf(contents map[string]any) string {
	for name, content := range contents {
		if content == nil {
			delete(contents, name)
		}
	}
	if len(contents) == 0 {
		return ""
	}
	text, err := json.Marshal(contents)
	if err != nil {
		panic(fmt.Sprintf("maps of text that cannot be written as JSON: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func referent(v v1alpha1.SharedVolume) (kind, name string, o client.Object, optional bool) {
	isTrue := func(b *bool) bool { return b != nil && *b }
	switch {
	case v.ConfigMap != nil:
		return "ConfigMap", v.ConfigMap.Name, &corev1.ConfigMap{}, isTrue(v.ConfigMap.Optional)
	case v.Secret != nil:
		return "Secret", v.Secret.SecretName, &corev1.Secret{}, isTrue(v.Secret.Optional)
	case v.PersistentVolumeClaim != nil:
		return "PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, &corev1.PersistentVolumeClaim{}, false
	}
	return "", "", nil, true
}

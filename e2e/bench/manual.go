package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed manual.yaml.tmpl
var manualText string

var manualTemplate = template.Must(template.New("manual").Parse(manualText))

// manual is (b), a cluster from manifests written by hand.
type manual struct {
	*bench
	values manifest
}

// manifest is what a person fills in before they apply it.
type manifest struct {
	Image, IP, MungeKey, JWTKey string
	Nodes                       []string
}

// as is a container's image and user; 0 is the pod's.
type as struct {
	Image string
	User  int
}

// As is for the template, whose parts take one argument.
func (m manifest) As(user int) as { return as{m.Image, user} }

// prepare makes keys and finds a free Service address, so that nothing waits for DNS. It is not timed.
func (m *manual) prepare(ctx context.Context) error {
	probe := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	probe.Name, probe.Namespace = "probe", m.namespace
	if err := m.Create(ctx, probe); err != nil {
		return fmt.Errorf("finding a free Service address: %w", err)
	}
	m.values = manifest{Image: m.image, IP: probe.Spec.ClusterIP, MungeKey: key(), JWTKey: key(), Nodes: []string{"cpu-0", "cpu-1"}}
	return m.Delete(ctx, probe)
}

func key() string {
	bytes := make([]byte, 64)
	_, _ = rand.Read(bytes) // never fails: it ends the program instead
	return base64.StdEncoding.EncodeToString(bytes)
}

// apply applies the manifests and tries a job until one has run.
func (m *manual) apply(ctx context.Context) error {
	if err := m.bench.apply(ctx, manualTemplate, m.values); err != nil {
		return err
	}
	return m.firstJob(ctx, "manual-controller-0")
}

// delete removes all objects of the manifests; nobody waits for what the daemons would still save.
func (m *manual) delete(ctx context.Context) error {
	ours := []client.DeleteAllOfOption{
		client.InNamespace(m.namespace), client.MatchingLabels{"bench": "manual"}, client.GracePeriodSeconds(1),
	}
	for _, o := range []client.Object{&corev1.Pod{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		if err := m.DeleteAllOf(ctx, o, ours...); err != nil {
			return fmt.Errorf("deleting what was applied by hand: %w", err)
		}
	}
	return nil
}

package main

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func TestMedian(t *testing.T) {
	for want, list := range map[float64][]time.Duration{
		1:   {time.Second},
		1.5: {time.Second, 2 * time.Second},
		2:   {time.Second, 2 * time.Second, 9 * time.Second},
	} {
		require.InDelta(t, want, median(list), 1e-9)
	}
}

// TestManifests: what the templates make are Kubernetes objects, each with a name.
func TestManifests(t *testing.T) {
	var text bytes.Buffer
	m := manifest{Image: "image", IP: "10.96.0.9", MungeKey: key(), JWTKey: key(), Nodes: []string{"cpu-0", "cpu-1"}}
	require.NoError(t, manualTemplate.Execute(&text, m))
	text.WriteString("\n---\n")
	require.NoError(t, bareTemplate.Execute(&text, map[string]any{"Image": "image", "Bare": []string{"one", "two"}}))
	decoder := yaml.NewYAMLOrJSONDecoder(&text, 4096)
	kinds := map[string]int{}
	for {
		raw := runtime.RawExtension{}
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		o := &corev1.Pod{}
		require.NoError(t, yaml.Unmarshal(raw.Raw, o))
		require.NotEmpty(t, o.Name)
		kinds[o.Kind]++
	}
	require.Equal(t, map[string]int{"Secret": 1, "ConfigMap": 1, "Service": 2, "Pod": 4}, kinds)
}

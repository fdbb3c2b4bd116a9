package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// TestChooseImages: no slurmd is ever of a newer release than slurmctld.
func TestChooseImages(t *testing.T) {
	for name, c := range map[string]struct {
		running, version string // of the wanted image
		storage, updated bool
		controller, node string
		problem          string
	}{
		"new cluster":                  {"", "", false, false, "", "", ""},
		"reached":                      {"new", "", false, false, "", "", ""},
		"a newer release":              {"old", "26.05.3", false, false, "new", "old", ""},
		"a newer release with storage": {"old", "25.11.0", true, false, "new", "old", ""},
		"the same release":             {"old", "25.05.9", true, false, "new", "new", ""},
		"an older release":             {"old", "24.11.5", false, false, "old", "new", ""},
		"all nodes are older":          {"old", "24.11.5", false, true, "new", "new", ""},
		"an older release, a queue":    {"old", "24.11.5", true, false, "old", "old", "cannot read the queue"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLooks(t, 1)
			l.cluster.Spec = v1alpha1.SlurmClusterSpec{Image: "new", NodeSets: []v1alpha1.NodeSet{{Name: "cpu", Replicas: ptr.To[int32](1)}}}
			l.cluster.Status.Image, l.cluster.Status.SlurmVersion = c.running, "25.05.2"
			if c.storage {
				l.cluster.Spec.Controller.Storage = &v1alpha1.ControllerStorage{}
			}
			if c.updated {
				hash := desired.TemplateHash(desired.Cluster{Object: l.cluster}, l.cluster.Spec.NodeSets[0])
				l.pods[0].Annotations = map[string]string{contract.AnnotationTemplateHash: hash}
			}
			s := l.scope()
			s.want.NodeImage = c.node
			require.NoError(t, s.rememberNodesHave(t.Context()))
			s = l.scope()
			if c.version != "" {
				s.memory.probed = probed{"new", c.version, version.MustParseGeneric(c.version)}
			}
			require.NoError(t, s.chooseImages(t.Context()))
			require.Equal(t, []string{c.controller, c.node}, []string{s.want.ControllerImage, s.want.NodeImage})
			if c.problem == "" {
				require.Empty(t, s.problems)
			} else {
				require.Contains(t, s.problems[0].Message, c.problem)
			}
		})
	}
}

// TestProbedVersion: what an image has said of itself.
func TestProbedVersion(t *testing.T) {
	for name, c := range map[string]struct {
		phase         corev1.PodPhase
		words         string
		want, problem string
	}{
		"told":            {corev1.PodSucceeded, "slurm 26.05.3\n", "26.5.3", ""},
		"not yet":         {corev1.PodRunning, "", "", ""},
		"has no Slurm":    {corev1.PodFailed, "sh: 1: slurmctld: not found", "", "image new does not tell its version of Slurm: sh: 1: slurmctld: not found"},
		"tells nonsense":  {corev1.PodSucceeded, "slurm what", "", "does not tell its version"},
		"was not let run": {corev1.PodFailed, "", "", "it left no message"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLooks(t, 0)
			s := l.scope()
			pod := &corev1.Pod{}
			pod.Annotations, pod.Status.Phase = map[string]string{contract.AnnotationImage: "new"}, c.phase
			pod.DeletionTimestamp = &pod.CreationTimestamp // nothing is to be deleted here
			ended := terminated(0, c.words)
			ended.Terminated.FinishedAt.Time = l.clock.Now().Add(-time.Second)
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: contract.ContainerVersion, State: ended}}
			s.versionPod = pod
			v, err := s.versionOf(t.Context(), "new")
			require.NoError(t, err)
			if c.want == "" {
				require.Nil(t, v)
			} else {
				require.Equal(t, c.want, v.String())
			}
			if c.problem == "" {
				require.Empty(t, s.problems)
			} else {
				require.Contains(t, s.problems[0].Message, c.problem)
			}
		})
	}
}

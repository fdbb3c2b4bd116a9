package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
	"github.com/slurmcluster/slurmcluster/operator/internal/status"
)

// BenchmarkLook is what a look at a large cluster costs of which one pod has changed, but for requests.
func BenchmarkLook(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			l := newLooks(b, nodes)
			l.cluster.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "cpu", Replicas: ptr.To(int32(nodes))}}
			l.cluster.Status.SlurmVersion = "24.11.5"
			hash := desired.TemplateHash(desired.Cluster{Object: l.cluster}, l.cluster.Spec.NodeSets[0])
			for i, pod := range l.pods {
				pod.UID, pod.Name = types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), "large-"+pod.Labels[contract.LabelNode]
				pod.Annotations = map[string]string{contract.AnnotationTemplateHash: hash}
				pod.Status = corev1.PodStatus{
					Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
					InitContainerStatuses: []corev1.ContainerStatus{{Name: contract.ContainerMunged, State: running()}},
					ContainerStatuses:     []corev1.ContainerStatus{{Name: contract.ContainerSlurmd, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(900, 0)}}}},
				}
			}
			look := func() *scope {
				s := l.scope()
				s.configHash = "x"
				require.False(b, s.rests(b.Context()))
				require.NoError(b, s.askSlurm(b.Context()))
				require.NoError(b, s.runNodes(b.Context()))
				require.NoError(b, s.markBusy(b.Context()))
				require.NoError(b, s.watchSizes(b.Context()))
				require.NoError(b, s.findPodProblems(b.Context()))
				s.cluster.Status = status.Make(s.observation())
				return s
			}
			look()
			look()
			l.asked = nil
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.clock.SetTime(time.Unix(1000, 0))
				l.change(i % nodes).ResourceVersion = fmt.Sprint(i + 2)
				s := look()
				require.Len(b, l.asked, 1)
				l.asked = nil
				require.EqualValues(b, nodes, *s.cluster.Status.ReadyNodes)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(nodes), "µs/node")
		})
	}
}

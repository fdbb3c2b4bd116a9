package desired

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// manyPods is more than a cluster can have. Kubernetes knows maxUnavailable: 0 only for pods whose owner has a scale;
// asking for more pods than there are means the same.
const manyPods = 1_000_000

// BudgetName is the name of the PodDisruptionBudget.
func (c Cluster) BudgetName() string { return c.Object.Name + "-busy" }

// Budget keeps Kubernetes from evicting the pods of nodes that run jobs. Others may be evicted.
func Budget(c Cluster) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	busy := c.Selector()
	busy[contract.LabelBusy] = "true"
	return policyv1ac.PodDisruptionBudget(c.BudgetName(), c.Object.Namespace).
		WithLabels(c.labels("")).
		WithOwnerReferences(c.owner()).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMinAvailable(intstr.FromInt32(manyPods)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(busy)))
}

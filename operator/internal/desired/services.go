package desired

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// ControllerService gives slurmctld an address that outlives its pod. It routes to the pod before that is
// ready, because slurmds knock until slurmctld answers and a readiness probe would only add to the wait.
func ControllerService(c Cluster) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(c.ControllerName(), c.Object.Namespace).
		WithLabels(c.labels(contract.RoleController)).
		WithOwnerReferences(c.owner()).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(map[string]string{
				contract.LabelCluster: c.Object.Name,
				contract.LabelRole:    contract.RoleController,
			}).
			WithPublishNotReadyAddresses(true).
			WithPorts(
				port("slurmctld", contract.PortSlurmctld),
				port("slurmrestd", contract.PortSlurmrestd),
				port("agent", contract.PortAgent),
			))
}

// NodesService gives the nodes DNS names, for people and for mpirun; Slurm itself does not need them.
func NodesService(c Cluster) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(c.NodesServiceName(), c.Object.Namespace).
		WithLabels(c.labels("")).
		WithOwnerReferences(c.owner()).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(map[string]string{contract.LabelCluster: c.Object.Name}).
			WithPublishNotReadyAddresses(true))
}

func port(name string, number int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(name).WithProtocol(corev1.ProtocolTCP).WithPort(number)
}

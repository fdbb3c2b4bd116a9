package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of conditions.
const (
	// ConditionReady is true when slurmctld answers and every wanted node is usable.
	ConditionReady = "Ready"
	// ConditionProgressing is true while the operator works towards the spec.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is true when something needs a person, or was lost and is being replaced.
	ConditionDegraded = "Degraded"
)

// Reasons of conditions.
const (
	// ReasonReady: slurmctld answers and every wanted node is usable.
	ReasonReady = "Ready"
	// ReasonStarting: pods of the cluster have not started yet.
	ReasonStarting = "Starting"
	// ReasonControllerUnavailable: slurmctld does not answer.
	ReasonControllerUnavailable = "ControllerUnavailable"
	// ReasonNodesNotReady: slurmctld answers, some wanted nodes are not usable.
	ReasonNodesNotReady = "NodesNotReady"
	// ReasonUpdating: nodes are being replaced or removed to follow the spec.
	ReasonUpdating = "Updating"
	// ReasonApplyingConfig: a new configuration is on its way to slurmctld.
	ReasonApplyingConfig = "ApplyingConfig"
	// ReasonWaitingForJobs: a change waits until jobs end, because carrying it out would end them.
	ReasonWaitingForJobs = "WaitingForJobs"
	// ReasonDrainTimedOut: a node that is to leave was taken from its jobs after its set's drainTimeout.
	ReasonDrainTimedOut = "DrainTimedOut"
	// ReasonNodeNotStarted: a node that Slurm wanted did not start in its set's startTimeout.
	ReasonNodeNotStarted = "NodeNotStarted"
	// ReasonConfigApplied: slurmctld runs with a new configuration.
	ReasonConfigApplied = "ConfigApplied"
	// ReasonKeysRotated: the cluster was given new keys, as asked.
	ReasonKeysRotated = "KeysRotated"
	// ReasonInvalidConfig: spec.config cannot be used.
	ReasonInvalidConfig = "InvalidConfig"
	// ReasonImageUnavailable: an image cannot be pulled.
	ReasonImageUnavailable = "ImageUnavailable"
	// ReasonUnschedulable: Kubernetes has no room for a pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonVolumeUnavailable: a volume, or what it refers to, does not exist or cannot be mounted.
	ReasonVolumeUnavailable = "VolumeUnavailable"
	// ReasonPodsRefused: the API server refused a pod, for example by quota or Pod Security.
	ReasonPodsRefused = "PodsRefused"
	// ReasonContainerFailing: a container of a pod ends again and again.
	ReasonContainerFailing = "ContainerFailing"
	// ReasonNodeUnusable: what Kubernetes grants a pod makes no node that Slurm could use as it was asked for.
	ReasonNodeUnusable = "NodeUnusable"
	// ReasonNameConflict: an object that the cluster needs exists already and belongs to somebody else.
	ReasonNameConflict = "NameConflict"
	// ReasonApplyFailed: the API server refused an object that the cluster needs.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonNoClass: the class that the cluster names does not exist.
	ReasonNoClass = "NoClass"
	// ReasonExceedsClass: the cluster has more than its class allows.
	ReasonExceedsClass = "ExceedsClass"
	// ReasonSuspended: the cluster has no nodes, because spec.suspend says so.
	ReasonSuspended = "Suspended"
	// ReasonEndsSoon: the cluster will be deleted soon, because its time is over or it is idle.
	ReasonEndsSoon = "EndsSoon"
	// ReasonEnded: the cluster was deleted for one of these reasons.
	ReasonEnded = "Ended"
	// ReasonAsExpected: nothing to do and nothing wrong.
	ReasonAsExpected = "AsExpected"
)

// SlurmClusterStatus is the cluster that was last seen.
type SlurmClusterStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Progressing and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes is how many nodes the spec wants.
	// +optional
	Nodes *int32 `json:"nodes,omitempty"`

	// readyNodes is how many of the wanted nodes are usable by Slurm.
	// +optional
	ReadyNodes *int32 `json:"readyNodes,omitempty"`

	// cpus is how many CPUs Slurm has on usable nodes.
	// +optional
	CPUs *int32 `json:"cpus,omitempty"`

	// nodeSets counts the nodes of each node set.
	// +optional
	// +listType=map
	// +listMapKey=name
	NodeSets []NodeSetStatus `json:"nodeSets,omitempty"`

	// jobs counts jobs, as slurmctld last told.
	// +optional
	Jobs JobCounts `json:"jobs"`

	// image is the one that slurmctld runs. Nodes of a newer Slurm wait until slurmctld has it, slurmctld of an older Slurm until
	// the nodes have it.
	// +optional
	Image string `json:"image,omitempty"`

	// slurmVersion is the version of the running slurmctld.
	// +optional
	SlurmVersion string `json:"slurmVersion,omitempty"`

	// configHash is the hash of the configuration that slurmctld runs with.
	// +optional
	ConfigHash string `json:"configHash,omitempty"`
	// configAppliedBy is how slurmctld came to run with it: Start, Reconfigure (jobs and connections are not disturbed)
	// or Restart (new keys, or a configuration that was brought back after slurmctld had ended with a newer one).
	// +optional
	ConfigAppliedBy string `json:"configAppliedBy,omitempty"`

	// granted is what the cluster had when its class last allowed it. Of what it has since, nothing is taken away when the
	// class changes.
	// +optional
	Granted *Granted `json:"granted,omitempty"`

	// gathered tells that a cluster with allOrNothing has had all of its nodes, since it was last suspended.
	// +optional
	Gathered bool `json:"gathered,omitempty"`

	// expiresAt is when the cluster will be deleted: when its ttl is over or, if that is sooner, when it will have been idle for
	// its idleTimeout.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// idleSince is since when no job runs or waits and nobody has a shell open, in clusters with an idleTimeout.
	// +optional
	IdleSince *metav1.Time `json:"idleSince,omitempty"`

	// warnedOf is the expiresAt of which users were last warned.
	// +optional
	WarnedOf *metav1.Time `json:"warnedOf,omitempty"`

	// endpoints are the addresses of the cluster's services.
	// +optional
	Endpoints Endpoints `json:"endpoints,omitzero"`
}

// NodeSetStatus counts the nodes of a node set.
type NodeSetStatus struct {
	// name of the node set.
	// +required
	Name string `json:"name"`
	// wanted is how many nodes the spec wants.
	// +required
	Wanted int32 `json:"wanted"`
	// ready is how many of them are usable by Slurm.
	// +required
	Ready int32 `json:"ready"`
	// idle is how many run nothing.
	// +optional
	Idle int32 `json:"idle,omitempty"`
	// allocated is how many run jobs, on all or some of their CPUs.
	// +optional
	Allocated int32 `json:"allocated,omitempty"`
	// draining is how many take no new job.
	// +optional
	Draining int32 `json:"draining,omitempty"`
	// down is how many Slurm cannot use.
	// +optional
	Down int32 `json:"down,omitempty"`
}

// JobCounts counts jobs.
type JobCounts struct {
	// running is how many jobs run. A task of an array counts as a job.
	// +required
	Running int32 `json:"running"`
	// pending is how many jobs wait.
	// +required
	Pending int32 `json:"pending"`
}

// Endpoints are addresses inside Kubernetes.
type Endpoints struct {
	// slurmctld is host:port of slurmctld.
	// +optional
	Slurmctld string `json:"slurmctld,omitempty"`
	// rest is the URL of slurmrestd.
	// +optional
	REST string `json:"rest,omitempty"`
}

// Granted is what a class has allowed to a cluster.
type Granted struct {
	// className is the class; empty if there was none.
	// +optional
	ClassName string `json:"className,omitempty"`
	// nodes is how many nodes the cluster may have.
	Nodes int32 `json:"nodes"`
	// cpu of all nodes together.
	CPU resource.Quantity `json:"cpu"`
	// memory of all nodes together.
	Memory resource.Quantity `json:"memory"`
	// nodeCPU is that of the largest node.
	NodeCPU resource.Quantity `json:"nodeCPU"`
	// nodeMemory is that of the largest node.
	NodeMemory resource.Quantity `json:"nodeMemory"`
	// ttl of the cluster.
	// +optional
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// idleTimeout of the cluster.
	// +optional
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
	// image of the cluster.
	// +optional
	Image string `json:"image,omitempty"`
	// nodeImages are those that node sets and volumes have of their own.
	// +optional
	// +listType=atomic
	NodeImages []string `json:"nodeImages,omitempty"`
	// seccompProfiles that node sets have beside RuntimeDefault.
	// +optional
	// +listType=atomic
	SeccompProfiles []string `json:"seccompProfiles,omitempty"`
	// configKeys of the cluster.
	// +optional
	// +listType=atomic
	ConfigKeys []string `json:"configKeys,omitempty"`
}

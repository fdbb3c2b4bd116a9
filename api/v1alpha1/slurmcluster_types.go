package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SlurmCluster is a Slurm cluster that runs in pods: slurmctld in one, a slurmd in each of the others.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=slurmclusters,singular=slurmcluster,shortName=slurm,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.readyNodes`
// +kubebuilder:printcolumn:name="Running",type=integer,JSONPath=`.status.jobs.running`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.jobs.pending`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="a SlurmCluster's name has at most 40 characters, because its pods' names are made from it; choose a shorter metadata.name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a SlurmCluster's name starts with a lower-case letter and has only lower-case letters, digits and '-', because its Services are named after it"
type SlurmCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the cluster that is wanted.
	// +required
	Spec SlurmClusterSpec `json:"spec"`

	// status is the cluster that was last seen.
	// +optional
	Status SlurmClusterStatus `json:"status,omitzero"`
}

// SlurmClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type SlurmClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the clusters.
	Items []SlurmCluster `json:"items"`
}

// Tenancy says whose jobs a cluster runs.
// +kubebuilder:validation:Enum=SingleUser
type Tenancy string

// TenancySingleUser means that every daemon and every job runs as one unprivileged user.
const TenancySingleUser Tenancy = "SingleUser"

// AuthType says how Slurm's daemons and clients know each other.
// +kubebuilder:validation:Enum=Munge;Slurm
type AuthType string

const (
	// AuthMunge is Slurm's auth/munge, with a munged in each pod. Jobs cannot read its key.
	AuthMunge AuthType = "Munge"
	// AuthSlurm is Slurm's own auth/slurm, which needs no other daemon. slurmd holds the cluster's key itself, and its jobs,
	// which run as the same user, can read it.
	AuthSlurm AuthType = "Slurm"
)

// SlurmClusterSpec is the cluster that is wanted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.partitions) || !has(self.nodeSets) || self.partitions.all(p, !has(p.nodeSets) || p.nodeSets.all(n, self.nodeSets.exists(s, s.name == n)))",message="a partition names a node set that does not exist; spec.partitions[].nodeSets takes names from spec.nodeSets"
// +kubebuilder:validation:XValidation:rule="!has(self.partitions) || self.partitions.filter(p, has(p.default) && p.default).size() <= 1",message="only one partition can be the default"
// +kubebuilder:validation:XValidation:rule="has(self.controller) && has(self.controller.storage) ? has(oldSelf.controller) && has(oldSelf.controller.storage) : !(has(oldSelf.controller) && has(oldSelf.controller.storage))",message="spec.controller.storage cannot be added or removed later, because the queue would be lost; create a new cluster"
// +kubebuilder:validation:XValidation:rule="!has(self.home) || !has(self.volumes) || self.volumes.all(v, v.name != 'home' && v.mountPath != '/home/user')",message="spec.home is mounted at /home/user and called home; no volume can be, too"
// +kubebuilder:validation:XValidation:rule="self.auth.type != 'Slurm' || !has(self.network) || !has(self.network.isolation) || self.network.isolation == 'Isolated'",message="spec.auth.type: Slurm needs spec.network.isolation: Isolated, because jobs can read the key that opens the cluster; isolate it, or take auth.type: Munge"
type SlurmClusterSpec struct {
	// className is the SlurmClusterClass, which decides what the cluster may have and has where this spec says nothing.
	// Default: the default class, if there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClassName string `json:"className,omitempty"`

	// image is the Slurm image of every pod, or of Slurm's programs where a node set has an image of its own. Default: the image that the operator was installed with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`
	Image string `json:"image,omitempty"`

	// imagePullPolicy is the Kubernetes pull policy of image.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// tenancy says whose jobs the cluster runs. SingleUser: everything runs as one unprivileged user and
	// fits Pod Security "restricted".
	// +optional
	// +kubebuilder:default=SingleUser
	Tenancy Tenancy `json:"tenancy,omitempty"`

	// auth says how daemons and clients know each other. Munge: by a munged beside each daemon. Slurm: by Slurm's own
	// auth/slurm, with one container less in each node and a key that jobs can read.
	// +optional
	// +kubebuilder:default={type: Munge}
	Auth AuthSpec `json:"auth,omitzero"`

	// nodeSets are groups of equal nodes. Default: those of the class.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=12
	NodeSets []NodeSet `json:"nodeSets,omitempty"`

	// partitions are the queues. Default: one partition named "main" over all node sets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Partitions []Partition `json:"partitions,omitempty"`

	// controller is the pod of slurmctld.
	// +optional
	Controller ControllerSpec `json:"controller,omitzero"`

	// home is the home directory that all pods share. Default: each pod has one of its own, which goes with it.
	// +optional
	Home *HomeSpec `json:"home,omitempty"`

	// volumes are shared directories that every slurmd pod and the controller pod mount.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w.mountPath == v.mountPath))",message="two volumes have the same mountPath; give each its own"
	Volumes []SharedVolume `json:"volumes,omitempty"`

	// network says who may connect to the cluster's pods. Default: they themselves and the operator.
	// +optional
	Network NetworkSpec `json:"network,omitzero"`

	// lifecycle says when the cluster ends by itself. Default: never.
	// +optional
	Lifecycle LifecycleSpec `json:"lifecycle,omitzero"`

	// allOrNothing lets jobs start only when all nodes are there, those of autoscaled sets aside. While Kubernetes has no room
	// for all, or a quota refuses one, the cluster has none, and it is tried again after a pause.
	// +optional
	AllOrNothing bool `json:"allOrNothing,omitempty"`

	// suspend takes the cluster's nodes away, and with spec.controller.storage slurmctld too, until it is false again.
	// The queue stays: on the volume, or in slurmctld, which then runs on. Running jobs are waited for; no other starts.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// config holds keys of slurm.conf, one value each. Keys that decide how the cluster is built belong to
	// the operator and are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[A-Za-z][A-Za-z0-9]{0,63}$'))",message="a key of spec.config is the name of a slurm.conf parameter: letters and digits only"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^[^\\\\x00-\\\\x1f\\\\x7f#]+$'))",message="a value of spec.config is one line of text, not empty, without control characters, newlines or '#'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k.lowerAscii() in ['accountingstoragehost','accountingstoragepass','accountingstorageport','accountingstoragetype','accountingstorageuser','authaltparameters','authalttypes','authinfo','authtype','backupaddr','backupcontroller','clustername','controladdr','controlmachine','credtype','downnodes','frontendname','grestypes','include','jobacctgathertype','maxnodecount','mcsplugin','nodename','nodeset','partitionname','plugindir','plugstackconfig','proctracktype','rebootprogram','resumefailprogram','resumeprogram','resumerate','resumetimeout','returntoservice','selecttype','slurmctldhost','slurmctldlogfile','slurmctldpidfile','slurmctldport','slurmctldprimaryoffprog','slurmctldprimaryonprog','slurmdlogfile','slurmdparameters','slurmdpidfile','slurmdport','slurmdspooldir','slurmduser','slurmuser','srunportrange','statesavelocation','suspendexcnodes','suspendexcparts','suspendexcstates','suspendprogram','suspendrate','suspendtime','suspendtimeout','switchtype','taskplugin','taskpluginparam','topologyplugin','treewidth','x11parameters']))",message="spec.config holds a key that the operator sets itself; remove it (docs/reference/slurm-conf.md lists these keys)"
	Config map[string]ConfigValue `json:"config,omitempty"`
}

// NetworkIsolation says whether a cluster has a NetworkPolicy.
// +kubebuilder:validation:Enum=Isolated;None
type NetworkIsolation string

// Ways to isolate.
const (
	NetworkIsolated     NetworkIsolation = "Isolated"
	NetworkIsolatedNone NetworkIsolation = "None"
)

// NetworkEgress says where a cluster's pods may connect to.
// +kubebuilder:validation:Enum=Open;Restricted
type NetworkEgress string

// Ways out.
const (
	NetworkEgressOpen       NetworkEgress = "Open"
	NetworkEgressRestricted NetworkEgress = "Restricted"
)

// NetworkSpec says who may connect to a cluster's pods, and where they may connect to. It is as good as the network plugin
// of Kubernetes, which enforces it; some do not.
//
// +kubebuilder:validation:XValidation:rule="!has(self.to) || (has(self.egress) && self.egress == 'Restricted')",message="network.to needs network.egress: Restricted; without that, pods may connect to everywhere"
type NetworkSpec struct {
	// isolation is Isolated, which makes a NetworkPolicy for the cluster, or None, which leaves that to others.
	// +optional
	// +kubebuilder:default=Isolated
	Isolation NetworkIsolation `json:"isolation,omitempty"`

	// from are those who may connect to the cluster's pods beside the pods themselves and the operator, as in a
	// NetworkPolicy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`

	// egress is Open, which lets pods connect to everywhere, or Restricted: to the cluster's own pods, to DNS, and to those
	// in to.
	// +optional
	// +kubebuilder:default=Open
	Egress NetworkEgress `json:"egress,omitempty"`

	// to are those to whom the cluster's pods may connect where egress is restricted, as in a NetworkPolicy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	To []networkingv1.NetworkPolicyPeer `json:"to,omitempty"`
}

// LifecycleSpec says when a cluster ends by itself: it is deleted, as if by its owner.
type LifecycleSpec struct {
	// ttl is how long the cluster exists, from its creation on, such as 8h. Jobs that run then end with it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// idleTimeout is how long the cluster stays while no job runs or waits and nobody has a shell open in its controller pod,
	// such as 30m. It does not pass while the cluster is suspended.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
}

// ConfigValue is the value of a slurm.conf parameter, as it stands behind the "=".
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type ConfigValue string

// AuthSpec says how daemons and clients know each other.
type AuthSpec struct {
	// type is the authentication; it cannot change later.
	// +optional
	// +kubebuilder:default=Munge
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.auth.type cannot change; create a new cluster"
	Type AuthType `json:"type,omitempty"`
}

// NodeSet is a group of equal nodes.
// +kubebuilder:validation:XValidation:rule="!has(self.taskBinding) || self.taskBinding != 'Cores' || (quantity(string(self.resources.cpu)).isInteger() && !has(self.resources.requests))",message="taskBinding: Cores needs a whole number of CPUs and no resources.requests: the kubelet gives only such pods CPUs of their own"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscale) || !has(self.replicas)",message="a node set has either replicas or autoscale; remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscale) || !has(self.taskBinding) || self.taskBinding != 'Cores'",message="autoscale needs taskBinding: None, because Slurm has to know a node's cores before the node exists"
type NodeSet struct {
	// name of the set. Its nodes are <name>-0, <name>-1, ...
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a node set's name starts with a lower-case letter and has only lower-case letters, digits and '-'"
	// +kubebuilder:validation:XValidation:rule="!self.matches('-[0-9]+$')",message="a node set's name does not end in '-' and a number, because node names do"
	// +kubebuilder:validation:XValidation:rule="!(self in ['controller', 'login', 'all', 'default'])",message="controller, login, all and default are not names of node sets; choose another, such as cpu"
	Name string `json:"name"`

	// image that the jobs of these nodes see: any image for Linux with a shell (/bin/sh), which needs nothing of Slurm. Slurm's
	// programs come from spec.image, and are mounted beside. Default: spec.image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`
	Image string `json:"image,omitempty"`

	// replicas is how many nodes are wanted. Default: 1, or what autoscale decides.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5000
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscale lets Slurm's scheduler decide how many nodes there are, by the jobs that wait. It takes the place of
	// replicas.
	// +optional
	Autoscale *Autoscale `json:"autoscale,omitempty"`

	// resources of each node, both as requests and as limits of its pod. Slurm is told the same numbers,
	// memory less a small reserve for the daemons.
	// +required
	Resources NodeResources `json:"resources"`

	// features are Slurm features (constraints) of the nodes. The set's own name is always one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Features []Feature `json:"features,omitempty"`

	// taskBinding says whether Slurm binds tasks to cores. Cores is for machines whose kubelet gives pods CPUs of
	// their own (cpuManagerPolicy: static): a job's tasks get distinct cores, with their threads. A node without
	// CPUs of its own refuses to start. None leaves it to the kernel, which serves nodes best that share CPUs.
	// +optional
	// +kubebuilder:default=None
	TaskBinding TaskBinding `json:"taskBinding,omitempty"`

	// runtimeClassName is the RuntimeClass of the pods, such as nvidia where GPUs need it, or gvisor. Default: the cluster's
	// own runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// seccompProfile is which system calls jobs may make. Default: type RuntimeDefault, which allows no user namespaces, and so
	// no containers inside jobs.
	// +optional
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Pods of a higher priority may take the place of these
	// nodes: Slurm runs their jobs again elsewhere. Default: what Kubernetes gives pods that name none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// terminationGracePeriodSeconds is how long the jobs of a node may still run when Kubernetes takes its pod away:
	// for kubectl drain, for a pod of a higher priority, or because somebody deletes it. The node takes no new jobs
	// meanwhile, and what has not ended by then is requeued.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// maxUnavailable is how many nodes may be out at once while a change of the spec reaches all of them: a number, or
	// a part of replicas such as 25%, rounded up; at least one. Each is drained first.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.endsWith('%')",message="maxUnavailable is a number of nodes, at least 1, or a part of them such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// drainTimeout is how long a node that is to leave, because there are too many, the spec has changed or its machine
	// is cordoned, waits for its jobs to end, such as 30m or 12h. Those that run after that are requeued, or end if they
	// cannot be.
	// Default: as long as they take.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+([.][0-9]+)?(ms|s|m|h))+$`
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`

	// template is what the pods of this set have beyond the usual.
	// +optional
	Template PodTemplate `json:"template,omitzero"`
}

// TaskBinding says whether Slurm binds tasks.
// +kubebuilder:validation:Enum=None;Cores
type TaskBinding string

// Ways to bind tasks.
const (
	TaskBindingNone  TaskBinding = "None"
	TaskBindingCores TaskBinding = "Cores"
)

// Feature is the name of a Slurm feature.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][-A-Za-z0-9_.]*$`
type Feature string

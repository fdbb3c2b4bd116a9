// Package contract is what the operator, the shim in the Slurm image and the kubectl plugin agree on:
// labels, annotations, container names, environment variables, ports, paths and exit codes. It imports
// nothing, so that each of the three can depend on it and on none of the others.
package contract

// Labels on every object that belongs to a cluster.
const (
	// LabelCluster names the SlurmCluster an object belongs to.
	LabelCluster = "slurmcluster.dev/cluster"
	// LabelRole is one of the Role constants.
	LabelRole = "slurmcluster.dev/role"
	// LabelNodeSet names the node set of a slurmd pod.
	LabelNodeSet = "slurmcluster.dev/node-set"
	// LabelNode is the Slurm node name of a slurmd pod, which is also its hostname.
	LabelNode = "slurmcluster.dev/node"
	// LabelBusy is on the slurmd pods whose nodes run jobs; its value is "true".
	LabelBusy = "slurmcluster.dev/busy"
)

// Values of LabelRole.
const (
	RoleController = "controller"
	RoleSlurmd     = "slurmd"
	// RoleVersion is a pod that tells the version of Slurm in an image.
	RoleVersion = "version"
)

// Annotations.
const (
	// AnnotationTemplateHash is the hash of what a slurmd pod was built from; a pod whose hash differs
	// from the wanted one is replaced.
	AnnotationTemplateHash = "slurmcluster.dev/template-hash"
	// AnnotationConfigHash is the hash of the Slurm configuration files. On the controller pod it also
	// makes the kubelet refresh the mounted files at once instead of within a minute.
	AnnotationConfigHash = "slurmcluster.dev/config-hash"
)

// AnnotationOwner names the user who made a SlurmCluster. Where the chart's admission policy is installed, the API server
// compares it with who that is.
const AnnotationOwner = "slurmcluster.dev/owner"

// AnnotationRotateKeys asks for new keys when its value on a SlurmCluster changes. The Secret with the keys and the pods
// carry the value that they were made for; on a pod, a change also makes the kubelet refresh the mounted keys at once.
const AnnotationRotateKeys = "slurmcluster.dev/rotate-keys"

// AnnotationApplied is the hash of what the operator made an object of, so that an operator that has just started need not write
// it again.
const AnnotationApplied = "slurmcluster.dev/applied"

// AnnotationImage is, on a pod of RoleVersion, the image that it is asked for.
const AnnotationImage = "slurmcluster.dev/image"

// AnnotationPasswd and AnnotationGroup hold /etc/passwd and /etc/group of a slurmd pod in an image without Slurm.
const (
	AnnotationPasswd = "slurmcluster.dev/passwd" //nolint:gosec // the file has no password in it
	AnnotationGroup  = "slurmcluster.dev/group"
)

// AnnotationGres lists the names of the generic resources that a slurmd pod offers, with commas between.
const AnnotationGres = "slurmcluster.dev/gres"

// Container names.
const (
	ContainerSlurmctld  = "slurmctld"
	ContainerSlurmd     = "slurmd"
	ContainerMunged     = "munged"
	ContainerSlurmrestd = "slurmrestd"
	// ContainerBundle copies Slurm's programs into a pod of another image.
	ContainerBundle = "slurm"
	// ContainerVersion tells the version of Slurm in an image.
	ContainerVersion = "version"
)

// Environment variables that the operator sets and the shim reads.
const (
	// EnvController is host:port of slurmctld for slurmd's --conf-server, a Service IP.
	EnvController = "SLURMCLUSTER_CONTROLLER"
	// EnvControllerName is the name of slurmctld's Service in the cluster's DNS, without the cluster's domain. Once it
	// does not exist, neither does the SlurmCluster.
	EnvControllerName = "SLURMCLUSTER_CONTROLLER_NAME"
	// EnvNodeFeatures is a comma-separated list of Slurm features of the node.
	EnvNodeFeatures = "SLURMCLUSTER_NODE_FEATURES"
)

// OperatorName is the operator's value of label app.kubernetes.io/name.
const OperatorName = "slurmcluster-operator"

// Ports.
const (
	PortSlurmctld  = 6817
	PortSlurmd     = 6818
	PortSlurmrestd = 6820
	// PortAgent is where the shim in front of slurmctld answers AgentPathConfig.
	PortAgent = 6821
	// PortSrunFirst and PortSrunLast bound the ports that srun listens on (SrunPortRange).
	PortSrunFirst = 60001
	PortSrunLast  = 63000
)

// AgentPathConfig is the HTTP path at which the shim in front of slurmctld reports AgentConfig as JSON.
const AgentPathConfig = "/config"

// AgentPathReady is the HTTP path at which it answers 200 while slurmctld takes connections. It waits for that, and answers after
// less than AgentReadyTimeout seconds.
const (
	AgentPathReady    = "/readyz"
	AgentReadyTimeout = 5
)

// AgentPathNodes is the HTTP path at which it makes the nodes of a POSTed CloudNodes. The request carries a token as
// slurmrestd takes it, in header TokenHeader.
const AgentPathNodes = "/nodes"

// AgentPathEvents is the HTTP path at which it answers an AgentEvents once its count is another than that of the query
// parameter "after", or after AgentEventsWait. It wants a token, too.
const AgentPathEvents = "/events"

// AgentPathPower is where PowerProgram tells it, from its own machine only, that Slurm powers nodes up or down.
const AgentPathPower = "/power"

// AgentPathProlog is where PrologProgram waits, on its own machine only, until the nodes of the query parameter "nodes", a
// list in Slurm's words, have been switched on.
const AgentPathProlog = "/prolog"

// AgentPathVisitors is the HTTP path at which it answers with AgentVisitors; it wants a token.
const AgentPathVisitors = "/visitors"

// AgentPathAnnounce is where a POSTed AgentAnnouncement is shown to everybody who has a shell or an interactive job; it wants
// a token.
const AgentPathAnnounce = "/announce"

// AgentPathVisit is where nodes POST that somebody has a shell on them; it answers with the last AgentAnnouncement.
const AgentPathVisit = "/visit"

// AgentEventsWait is how long it waits for an event, in seconds.
const AgentEventsWait = 25

// Headers of requests to slurmrestd and to the agent.
const (
	UserHeader  = "X-SLURM-USER-NAME"
	TokenHeader = "X-SLURM-USER-TOKEN" //nolint:gosec // the header's name, not what it carries
)

// CloudNodes are equal nodes that Slurm is to know before they exist.
type CloudNodes struct {
	Names    []string `json:"names"`
	CPUs     int      `json:"cpus"`
	MemoryMB int64    `json:"memoryMB"`
	Features []string `json:"features"`
	// Gres is as in slurm.conf, such as gpu:2.
	Gres string `json:"gres,omitempty"`
}

// AgentEvents counts what happened in slurmctld that the operator should look at.
type AgentEvents struct {
	Count uint64 `json:"count"`
}

// AgentVisitors are the people with a shell.
type AgentVisitors struct {
	// Now is how many terminals are open in slurmctld's pod.
	Now int `json:"now"`
	// SecondsSince is how long ago the last one, there or on a node, was seen; negative if there was none since slurmctld's container started.
	SecondsSince int64 `json:"secondsSince"`
}

// AgentAnnouncement is a line of text for people.
type AgentAnnouncement struct {
	Text string `json:"text"`
	// Number tells announcements apart; the agent counts them from 1 on.
	Number int `json:"number,omitempty"`
}

// AppliedBy is a way in which slurmctld comes to run with a configuration.
type AppliedBy string

// Ways to apply a configuration. Since Slurm 23.11, a reconfiguration takes over all but ports and authentication
// (scontrol's manual), which are not for users to choose.
const (
	AppliedByStart       AppliedBy = "Start"
	AppliedByReconfigure AppliedBy = "Reconfigure"
	AppliedByRestart     AppliedBy = "Restart"
)

// AgentConfig is what slurmctld's shim reports: which configuration runs, and why a newer one does not.
type AgentConfig struct {
	// RunningHash is the hash of the configuration that slurmctld was last told to use.
	RunningHash string `json:"runningHash"`
	// AppliedBy is how slurmctld came to run with it.
	AppliedBy AppliedBy `json:"appliedBy,omitempty"`
	// RejectedHash is the hash of a newer configuration that was not applied; empty if there is none.
	RejectedHash string `json:"rejectedHash,omitempty"`
	// Reason says in a sentence why RejectedHash was not applied.
	Reason string `json:"reason,omitempty"`
	// KeyHash is the KeyHash of the key of auth/slurm that slurmctld uses; empty if the cluster has a munged.
	KeyHash string `json:"keyHash,omitempty"`
}

// Users of the images. Every daemon of a SingleUser cluster runs as UserID; slurmrestd refuses to run
// as SlurmUser or in its groups, so it has an id of its own.
const (
	UserName         = "user"
	UserID           = 1000
	GroupID          = 1000
	SlurmrestdUserID = 1001
	// VolumeGroupID is the pods' fsGroup. It is nobody's primary group: slurmrestd would refuse it.
	VolumeGroupID = 1002
)

// Paths inside the Slurm image.
const (
	// HomeDir is the user's home directory and the working directory of shells and jobs.
	HomeDir = "/home/user"
	// KeyDir is where the cluster's Secret is mounted.
	KeyDir = "/run/secrets/slurmcluster"
	// ConfigDir holds the configuration that clients inside the controller pod use, written by slurmctld's
	// agent; slurmctld is 127.0.0.1 in it, so that a waiting srun is called back in its own pod.
	ConfigDir = "/etc/slurm"
	// ServedConfigDir is where the cluster's ConfigMap is mounted: the wanted configuration, which
	// slurmctld's agent checks before slurmctld and its clients see it.
	ServedConfigDir = "/etc/slurmctld"
	// StateDir is slurmctld's volume; StateSaveLocation is a directory below it that slurmctld owns.
	StateDir = "/var/lib/slurmctld"
	// SpoolDir is slurmd's volume; SlurmdSpoolDir is a directory below it that slurmd owns.
	SpoolDir = "/var/spool/slurmd"
	// SharedDir is a volume that munged and its clients share.
	SharedDir = "/run/slurmcluster"
	// MungeDir is made by munged's own uid below the shared volume, because munged refuses the volume's
	// own mode. In the image /run/munge, which clients have compiled in, is a link to it.
	MungeDir = SharedDir + "/munge"
	// MungeSocket is the socket of the pod's munged.
	MungeSocket = MungeDir + "/munge.socket.2"
	// RunDir is a writable in-memory volume of the pod's main container, where Slurm's tools look for a
	// configuration that slurmd fetched (RunDir/conf).
	RunDir = "/run/slurm"
	// SlurmctldRunDir is where slurmctld puts the socket of auth/slurm: RunDir's volume, mounted once more.
	SlurmctldRunDir = "/run/slurmctld"
	// PowerProgram is slurm.conf's ResumeProgram and SuspendProgram: a link to slurmd-shim.
	PowerProgram = RunDir + "/slurmcluster-power"
	// PrologProgram is slurm.conf's PrologSlurmctld where nodes are switched on and off: another such link.
	PrologProgram = RunDir + "/slurmcluster-prolog"
	// NodeConf is what slurm.conf holds for one node only. slurm.conf includes it by this absolute path, so that
	// slurmctld does not send it along and each daemon reads its own pod's.
	NodeConf = RunDir + "/node.conf"
	// BundleDir holds what a pod of an image without Slurm mounts from the Slurm image: programs, plugins and libraries that
	// need nothing of that image. BundlePrograms are the programs, slurmd-shim among them.
	BundleDir      = "/opt/slurmcluster"
	BundlePrograms = BundleDir + "/bin"
	// TaskProlog is slurm.conf's TaskProlog in such pods.
	TaskProlog = RunDir + "/task-prolog"
	// GresConf holds the devices of one node, and is included by gres.conf as NodeConf is by slurm.conf.
	GresConf = RunDir + "/gres.conf"
	// SlurmdLink leads to slurmd-shim. slurmd is started under this name, and so starts the shim when it starts
	// itself anew; SlurmdProgram leads to slurmd itself.
	SlurmdLink    = RunDir + "/slurmd"
	SlurmdProgram = RunDir + "/slurmd.program"
	// SlurmdConf holds what slurmd registers with when it starts itself anew.
	SlurmdConf = RunDir + "/slurmd.conf"
	// JWTKeyPath is the copy of the JWT key that slurmctld reads.
	JWTKeyPath = RunDir + "/keys/" + KeyJWT
	// TerminationLog is where a process leaves its last words for the kubelet.
	TerminationLog = "/dev/termination-log"
)

// Keys of a cluster's Secret.
const (
	KeyMunge = "munge.key"
	KeyJWT   = "jwt_hs256.key"
	// KeySlurm is the key of auth/slurm.
	KeySlurm = "slurm.key"
)

// Files of a cluster's ConfigMap. FileSlurmConfLocal is slurm.conf for clients in the controller pod.
const (
	FileSlurmConf      = "slurm.conf"
	FileSlurmConfLocal = "slurm-local.conf"
	FileCgroupConf     = "cgroup.conf"
	FilePlugstackConf  = "plugstack.conf"
	FileJobSubmit      = "job_submit.lua"
	// FileGresConf is there in clusters with generic resources only.
	FileGresConf = "gres.conf"
)

// ReasonPrefix starts the reason of every drain or down that the operator sets. A node with another
// reason is an administrator's and is left alone.
const ReasonPrefix = "slurmcluster: "

// ReasonRegistering is the reason with which a node registers, drained, until the operator has seen it
// and resumes it; resuming starts Slurm's scheduler, which registering alone does not.
const ReasonRegistering = ReasonPrefix + "registering"

// ReasonLeaving is the reason of the drain of a node whose pod is about to go.
const ReasonLeaving = ReasonPrefix + "its pod is going"

// What a node says in its field Extra when its container was resized in place: the beginnings of a sentence. Slurm
// takes a new size only from a node that it does not know yet, so the operator removes it once it is free.
const (
	// ExtraGrow: the node could have more and lose nothing.
	ExtraGrow = ReasonPrefix + "could grow to "
	// ExtraShrink: the node has less than Slurm believes.
	ExtraShrink = ReasonPrefix + "must shrink to "
	// ExtraUnusable: no node can be made any more of what is granted.
	ExtraUnusable = ReasonPrefix + "cannot go on: "
)

// GresGPU is Slurm's name of GPUs, the one generic resource whose devices slurmd-shim finds without being told their
// files.
const GresGPU = "gpu"

// TaskBindingCores is the value of slurmd-shim's --task-binding that binds tasks to cores.
const TaskBindingCores = "Cores"

// Exit codes of slurmd-shim.
const (
	// ExitUnusable means that no usable node can be made from what the kernel grants; a sentence on
	// standard error says why.
	ExitUnusable = 2
	// ExitConfig means that an input (flag, environment, mounted file) is wrong or missing.
	ExitConfig = 3
)

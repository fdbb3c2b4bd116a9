package create

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	maxNodeSets    = 12
	maxNodeSet     = 16
	maxNodes       = 5000
	maxFeatures    = 16
	maxFeature     = 40
	maxSelectors   = 32
	maxTolerations = 32
)

var (
	endsLikeNode   = regexp.MustCompile(`-[0-9]+$`)
	nodeNumbers    = regexp.MustCompile(`^([0-9]{1,9})(?:-([0-9]{1,9}))?$`)
	nodesOrPart    = regexp.MustCompile(`^([1-9][0-9]{0,8}|[0-9]{1,3}%)$`)
	featureName    = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]*$`)
	takenSetNames  = []string{"controller", "login", "all", "default"}
	taintEffects   = []string{string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule), string(corev1.TaintEffectNoExecute)}
	smallestCPU    = resource.MustParse("1")
	smallestMemory = resource.MustParse("128Mi")
)

// NodeSetOptions are what the command line says of one node set: in flags of their own, or in one --add-nodes.
type NodeSetOptions struct {
	Name string
	// Image is one that needs nothing of Slurm; empty: that of the cluster.
	Image string
	// Nodes is a number, or two with '-' between: as few and as many as jobs need.
	Nodes string
	// NodeIdleTimeout is how long a node that jobs brought stays without any; empty: the API's default.
	NodeIdleTimeout string
	CPUs, Memory    string
	// CPURequest and MemoryRequest are what Kubernetes sets aside; empty: all of CPUs and Memory.
	CPURequest, MemoryRequest string
	Tmp                       string
	// Devices have the form RESOURCE[=N][:GRES][:/dev/FILE...].
	Devices, Features                        []string
	TaskBinding, RuntimeClass, PriorityClass string
	// SeccompProfile is unconfined, or a file on the machines.
	SeccompProfile string
	// NodeSelector has the form KEY=VALUE, and Tolerations KEY[=VALUE][:EFFECT].
	NodeSelector, Tolerations []string
	// MaxUnavailable is a number or a percentage.
	MaxUnavailable string
	// DrainTimeout is how long nodes wait for their jobs; empty: as long as they take.
	DrainTimeout string

	// nameFlag is the name of Name's flag, and dashes stand before that of any.
	nameFlag, dashes string
}

// newNodeSetOptions returns the defaults of a set whose flags begin with dashes.
func newNodeSetOptions(nameFlag, dashes string) NodeSetOptions {
	return NodeSetOptions{Nodes: "1", CPUs: "1", Memory: "1Gi", nameFlag: nameFlag, dashes: dashes}
}

func (n *NodeSetOptions) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("nodes", pflag.ContinueOnError)
	flags.StringVar(&n.Name, n.nameFlag, n.Name, "`NAME` of the node set; its nodes are NAME-0, NAME-1, ...")
	flags.StringVar(&n.Nodes, "nodes", n.Nodes, "`NUMBER` of nodes, or MIN-MAX: as many as the jobs need")
	flags.StringVar(&n.Image, "node-image", "", "jobs on the nodes see this `IMAGE`, which needs nothing of Slurm (default: Slurm's own)")
	flags.StringVar(&n.NodeIdleTimeout, "node-idle-timeout", "", "how long a node above MIN stays without jobs, as `TIME` (default: 5m)")
	flags.StringVar(&n.CPUs, "cpus", n.CPUs, "`CPUs` of each node, at least 1")
	flags.StringVar(&n.Memory, "memory", n.Memory, "memory of each node, at least 128Mi, as `QUANTITY`")
	flags.StringVar(&n.CPURequest, "cpu-request", "", "CPUs that Kubernetes sets aside for each node, as `QUANTITY`, where nodes may share theirs (default: all)")
	flags.StringVar(&n.MemoryRequest, "memory-request", "", "memory that Kubernetes sets aside for each node, as `QUANTITY` (default: all)")
	flags.StringVar(&n.Tmp, "tmp", "", "what /tmp of each node may hold, as `SIZE` (default: 1Gi)")
	flags.StringArrayVar(&n.Devices, "devices", nil, "devices of each node, as `RESOURCE=N`, such as nvidia.com/gpu=1, "+
		"with :GRES and :/dev/FILE behind for a name of Slurm's and device files (repeatable)")
	flags.StringSliceVar(&n.Features, "features", nil, "Slurm features of the nodes, as `NAME,...`")
	flags.StringVar(&n.TaskBinding, "task-binding", "", "what Slurm binds tasks to: `none|cores`; the latter where machines give pods CPUs of their own (default: none)")
	flags.StringVar(&n.RuntimeClass, "runtime-class", "", "RuntimeClass of the nodes, by `NAME`, such as nvidia")
	flags.StringVar(&n.SeccompProfile, "seccomp-profile", "", "which system calls jobs may make: `unconfined|FILE`, the latter on the machines (default: the runtime's)")
	flags.StringVar(&n.PriorityClass, "priority-class", "", "PriorityClass of the nodes, by `NAME`")
	flags.StringArrayVar(&n.NodeSelector, "node-selector", nil, "machines for the nodes have this label, as `KEY=VALUE` (repeatable)")
	flags.StringArrayVar(&n.Tolerations, "toleration", nil, "machines for the nodes may have this `TAINT`: KEY[=VALUE][:EFFECT] (repeatable)")
	flags.StringVar(&n.MaxUnavailable, "max-unavailable", "", "how many nodes may be out at once for a change of the cluster: a `NUMBER`, or a part such as 25% (default: 1)")
	flags.StringVar(&n.DrainTimeout, "drain-timeout", "", "how long a node that is to leave waits for its jobs, as `TIME`; 0: not at all (default: as long as they take)")
	return flags
}

// nodeSet checks everything and turns text into values. It leaves defaults to the API server. Errors may be nil.
func (n *NodeSetOptions) nodeSet() (v1alpha1.NodeSet, []error) {
	set := v1alpha1.NodeSet{Name: n.Name, Image: n.Image}
	requests := &set.Resources.Requests
	errs := []error{
		n.checkName(),
		checkImage(n.flag("node-image"), n.Image, "docker.io/library/python:slim"),
		n.checkNodes(&set),
		quantity(n.flag("cpus"), n.CPUs, smallestCPU, "at least 1, because Slurm gives jobs whole CPUs", &set.Resources.CPU),
		quantity(n.flag("memory"), n.Memory, smallestMemory,
			"at least 128Mi, because slurmd and a job's shell need that much (Mi and Gi are the usual units; m means thousandths)", &set.Resources.Memory),
		request(n.flag("cpu-request"), n.CPURequest, n.flag("cpus"), n.CPUs, &requests.CPU),
		request(n.flag("memory-request"), n.MemoryRequest, n.flag("memory"), n.Memory, &requests.Memory),
		n.checkTmp(&set),
		n.checkDevices(&set),
		n.checkFeatures(&set),
		choose(n.flag("task-binding"), n.TaskBinding, &set.TaskBinding, v1alpha1.TaskBindingNone, v1alpha1.TaskBindingCores),
		n.checkCores(&set),
		objectName(n.flag("runtime-class"), n.RuntimeClass, "a RuntimeClass", "runtimeclasses", &set.RuntimeClassName),
		n.checkSeccompProfile(&set),
		objectName(n.flag("priority-class"), n.PriorityClass, "a PriorityClass", "priorityclasses", &set.PriorityClassName),
		n.checkNodeSelector(&set.Template),
		n.checkTolerations(&set.Template),
		n.checkMaxUnavailable(&set),
		n.checkDrainTimeout(&set),
	}
	return set, errs
}

func (n *NodeSetOptions) checkSeccompProfile(set *v1alpha1.NodeSet) error {
	switch text := n.SeccompProfile; {
	case text == "":
	case strings.EqualFold(text, string(corev1.SeccompProfileTypeUnconfined)):
		set.SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	case strings.EqualFold(text, string(corev1.SeccompProfileTypeRuntimeDefault)):
		set.SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	case strings.HasPrefix(text, "/") || strings.Contains(text, "..") || len([]rune(text)) > maxPath:
		return fmt.Errorf("%s %q is not a file below the kubelet's directory of seccomp profiles, such as profiles/user-namespaces.json",
			n.flag("seccomp-profile"), text)
	default:
		set.SeccompProfile = &v1alpha1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &text}
	}
	return nil
}

// flag is a flag's name as it was written.
func (n *NodeSetOptions) flag(name string) string {
	return n.dashes + name
}

func (n *NodeSetOptions) checkName() error {
	flag := n.flag(n.nameFlag)
	switch {
	case len(n.Name) > maxNodeSet:
		return fmt.Errorf("%s %q has more than %d characters; choose a shorter name", flag, n.Name, maxNodeSet)
	case !dnsName.MatchString(n.Name):
		return fmt.Errorf("%s %q cannot be used: it must start with a lower-case letter, end with a letter or digit "+
			"and have only lower-case letters, digits and '-'", flag, n.Name)
	case endsLikeNode.MatchString(n.Name):
		return fmt.Errorf("%s %q ends in '-' and a number, like the name of a node; choose another", flag, n.Name)
	case slices.Contains(takenSetNames, n.Name):
		return fmt.Errorf("%s %q is taken; choose another name, such as cpu", flag, n.Name)
	}
	return nil
}

func (n *NodeSetOptions) checkNodes(set *v1alpha1.NodeSet) error {
	flag := n.flag("nodes")
	texts := nodeNumbers.FindStringSubmatch(n.Nodes)
	if texts == nil {
		return fmt.Errorf("%s %s: give a number of nodes, such as 4, or the least and the most, such as 0-10", flag, n.Nodes)
	}
	var numbers []int32
	for _, text := range texts[1:] {
		number, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 32)
		if err != nil || number > maxNodes {
			return fmt.Errorf("%s %s: a cluster has 0 to %d nodes", flag, n.Nodes, maxNodes)
		}
		numbers = append(numbers, int32(number))
	}
	if texts[2] == "" {
		set.Replicas = &numbers[0]
		return n.checkNodeIdleTimeout(set)
	}
	if numbers[1] < 1 || numbers[0] > numbers[1] {
		return fmt.Errorf("%s %s: the second number is the most nodes there may be, at least 1 and at least the first", flag, n.Nodes)
	}
	set.Autoscale = &v1alpha1.Autoscale{Min: numbers[0], Max: numbers[1]}
	return n.checkNodeIdleTimeout(set)
}

func (n *NodeSetOptions) checkNodeIdleTimeout(set *v1alpha1.NodeSet) error {
	flag := n.flag("node-idle-timeout")
	var timeout *metav1.Duration
	if err := duration(flag, n.NodeIdleTimeout, &timeout); err != nil {
		return err
	}
	if timeout != nil && set.Autoscale == nil {
		return fmt.Errorf("%s %s: without %s MIN-MAX, nodes stay whether they have jobs or not", flag, n.NodeIdleTimeout, n.flag("nodes"))
	}
	if timeout != nil {
		set.Autoscale.IdleTimeout = timeout
	}
	return nil
}

func (n *NodeSetOptions) checkTmp(set *v1alpha1.NodeSet) error {
	if n.Tmp == "" {
		return nil
	}
	set.Resources.Tmp = &resource.Quantity{}
	return quantity(n.flag("tmp"), n.Tmp, aboveZero, "more than nothing, such as 10Gi", set.Resources.Tmp)
}

func (n *NodeSetOptions) checkFeatures(set *v1alpha1.NodeSet) error {
	flag := n.flag("features")
	if len(n.Features) > maxFeatures {
		return fmt.Errorf("%s has %d names; %d is the most", flag, len(n.Features), maxFeatures)
	}
	for i, feature := range n.Features {
		if len(feature) > maxFeature || !featureName.MatchString(feature) {
			return fmt.Errorf("%s %q cannot be used: a feature starts with a letter or digit and has at most %d letters, digits, '-', '_' and '.'",
				flag, feature, maxFeature)
		}
		if slices.Contains(n.Features[:i], feature) {
			return fmt.Errorf("%s has %q twice; give it once", flag, feature)
		}
		set.Features = append(set.Features, v1alpha1.Feature(feature))
	}
	return nil
}

// checkCores holds the set to what the kubelet asks of pods that get CPUs of their own.
func (n *NodeSetOptions) checkCores(set *v1alpha1.NodeSet) error {
	if set.TaskBinding != v1alpha1.TaskBindingCores {
		return nil
	}
	flag := n.flag("task-binding") + " " + n.TaskBinding
	_, whole := set.Resources.CPU.AsInt64()
	switch {
	case !whole:
		return fmt.Errorf("%s needs a whole number of CPUs; %s %s is none", flag, n.flag("cpus"), n.CPUs)
	case n.CPURequest != "" || n.MemoryRequest != "":
		return fmt.Errorf("%s is for nodes that share nothing; leave out %s and %s", flag, n.flag("cpu-request"), n.flag("memory-request"))
	case set.Autoscale != nil:
		return fmt.Errorf("%s needs a fixed number of nodes, because Slurm has to know a node's cores before the node exists; %s %s is none",
			flag, n.flag("nodes"), n.Nodes)
	}
	return nil
}

func (n *NodeSetOptions) checkNodeSelector(template *v1alpha1.PodTemplate) error {
	flag := n.flag("node-selector")
	if len(n.NodeSelector) > maxSelectors {
		return fmt.Errorf("%s is given %d times; %d is the most", flag, len(n.NodeSelector), maxSelectors)
	}
	for _, text := range n.NodeSelector {
		key, value, found := strings.Cut(text, "=")
		if !found || len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Errorf("%s %q: write KEY=VALUE, like a label of Kubernetes' nodes; see: kubectl get nodes --show-labels", flag, text)
		}
		if _, given := template.NodeSelector[key]; given {
			return fmt.Errorf("%s %s is given twice; give it once", flag, key)
		}
		if template.NodeSelector == nil {
			template.NodeSelector = map[string]string{}
		}
		template.NodeSelector[key] = value
	}
	return nil
}

func (n *NodeSetOptions) checkTolerations(template *v1alpha1.PodTemplate) error {
	flag := n.flag("toleration")
	if len(n.Tolerations) > maxTolerations {
		return fmt.Errorf("%s is given %d times; %d is the most", flag, len(n.Tolerations), maxTolerations)
	}
	for _, text := range n.Tolerations {
		taint, effect, hasEffect := strings.Cut(text, ":")
		key, value, hasValue := strings.Cut(taint, "=")
		switch {
		case len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0:
			return fmt.Errorf("%s %q: write KEY[=VALUE][:EFFECT], like a taint of Kubernetes' nodes, such as nvidia.com/gpu:NoSchedule", flag, text)
		case hasEffect && !slices.Contains(taintEffects, effect):
			return fmt.Errorf("%s %q: %q is not an effect; choose one of %s", flag, text, effect, strings.Join(taintEffects, ", "))
		}
		toleration := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Value: value, Effect: corev1.TaintEffect(effect)}
		if hasValue {
			toleration.Operator = corev1.TolerationOpEqual
		}
		template.Tolerations = append(template.Tolerations, toleration)
	}
	return nil
}

func (n *NodeSetOptions) checkMaxUnavailable(set *v1alpha1.NodeSet) error {
	if n.MaxUnavailable == "" {
		return nil
	}
	if !nodesOrPart.MatchString(n.MaxUnavailable) {
		return fmt.Errorf("%s %q: give a number of nodes, at least 1, or a part of them such as 25%%", n.flag("max-unavailable"), n.MaxUnavailable)
	}
	value := intstr.Parse(n.MaxUnavailable)
	set.MaxUnavailable = &value
	return nil
}

func (n *NodeSetOptions) checkDrainTimeout(set *v1alpha1.NodeSet) error {
	if n.DrainTimeout == "0" {
		set.DrainTimeout = &metav1.Duration{}
		return nil
	}
	return duration(n.flag("drain-timeout"), n.DrainTimeout, &set.DrainTimeout)
}

func (o *Options) checkNodeSets() error {
	first, all := o.NodeSet.nodeSet()
	o.nodeSets = []v1alpha1.NodeSet{first}
	if len(o.AddNodes) >= maxNodeSets {
		all = append(all, fmt.Errorf("--add-nodes is given %d times; a cluster has %d node sets at most, and one has flags of its own",
			len(o.AddNodes), maxNodeSets))
	}
	for _, text := range o.AddNodes {
		added := newNodeSetOptions("name", "")
		errs := o.addNodeSet(&added, text)
		all = append(all, within("--add-nodes", cmp.Or(added.Name, strconv.Quote(text)), errs))
	}
	return errors.Join(all...)
}

func (o *Options) addNodeSet(added *NodeSetOptions, text string) []error {
	if err := readKeys(added.flags(), text); err != nil {
		return []error{err}
	}
	if added.Name == "" {
		return []error{errors.New("it has no name; give it one, such as name=gpu")}
	}
	set, errs := added.nodeSet()
	if slices.ContainsFunc(o.nodeSets, func(s v1alpha1.NodeSet) bool { return s.Name == set.Name }) {
		errs = append(errs, errors.New("there is a node set of this name already; choose another"))
	}
	o.nodeSets = append(o.nodeSets, set)
	return errs
}

package create

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/lifetime"
)

// The rules are those of the custom resource's schema, said in terms of flags. A test holds the two together.
const (
	maxName     = 40
	maxNodeSet  = 16
	maxNodes    = 5000
	maxFeatures = 16
	maxFeature  = 40
	maxImage    = 500
	maxClass    = 253

	defaultStorage = "1Gi"
)

var (
	dnsName         = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	endsLikeNode    = regexp.MustCompile(`-[0-9]+$`)
	imageName       = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`)
	featureName     = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]*$`)
	takenSetNames   = []string{"controller", "login", "all", "default"}
	smallestCPU     = resource.MustParse("1")
	smallestMemory  = resource.MustParse("128Mi")
	smallestStorage = resource.MustParse("1")
)

// Validate checks everything before a request is sent, and turns text into values.
func (o *Options) Validate() error {
	checks := []func() error{
		o.checkName, o.checkNodeSet, o.checkNodes, o.checkQuantities, o.checkImage,
		o.checkFeatures, o.checkStorageClass, o.checkVolumes, o.checkConfig, o.checkLifecycle, o.checkClass, o.checkHome,
	}
	all := make([]error, 0, len(checks))
	for _, check := range checks {
		all = append(all, check())
	}
	return errors.Join(all...)
}

func (o *Options) checkName() error {
	if len(o.Name) > maxName {
		return fmt.Errorf("the name %q has more than %d characters; choose a shorter one, because pods are named after it", o.Name, maxName)
	}
	if !dnsName.MatchString(o.Name) {
		return fmt.Errorf("the name %q cannot be used: it must start with a lower-case letter, end with a letter or digit "+
			"and have only lower-case letters, digits and '-'", o.Name)
	}
	return nil
}

func (o *Options) checkNodeSet() error {
	switch {
	case len(o.NodeSet) > maxNodeSet:
		return fmt.Errorf("--node-set %q has more than %d characters; choose a shorter name", o.NodeSet, maxNodeSet)
	case !dnsName.MatchString(o.NodeSet):
		return fmt.Errorf("--node-set %q cannot be used: it must start with a lower-case letter, end with a letter or digit "+
			"and have only lower-case letters, digits and '-'", o.NodeSet)
	case endsLikeNode.MatchString(o.NodeSet):
		return fmt.Errorf("--node-set %q ends in '-' and a number, like the name of a node; choose another", o.NodeSet)
	case slices.Contains(takenSetNames, o.NodeSet):
		return fmt.Errorf("--node-set %q is taken; choose another name, such as cpu", o.NodeSet)
	}
	return nil
}

// nodeNumbers are a number, or two with '-' between.
var nodeNumbers = regexp.MustCompile(`^([0-9]{1,9})(?:-([0-9]{1,9}))?$`)

func (o *Options) checkNodes() error {
	texts := nodeNumbers.FindStringSubmatch(o.Nodes)
	if texts == nil {
		return fmt.Errorf("--nodes %s: give a number of nodes, such as 4, or the least and the most, such as 0-10", o.Nodes)
	}
	var numbers []int32
	for _, text := range texts[1:] {
		n, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 32)
		if err != nil || n > maxNodes {
			return fmt.Errorf("--nodes %s: a cluster has 0 to %d nodes", o.Nodes, maxNodes)
		}
		numbers = append(numbers, int32(n))
	}
	if texts[2] == "" {
		o.replicas = &numbers[0]
		return o.checkNodeIdleTimeout()
	}
	if numbers[1] < 1 || numbers[0] > numbers[1] {
		return fmt.Errorf("--nodes %s: the second number is the most nodes there may be, at least 1 and at least the first", o.Nodes)
	}
	o.autoscale = &v1alpha1.Autoscale{Min: numbers[0], Max: numbers[1]}
	if o.NodeIdleTimeout != 0 {
		o.autoscale.IdleTimeout = &metav1.Duration{Duration: o.NodeIdleTimeout}
	}
	return o.checkNodeIdleTimeout()
}

func (o *Options) checkNodeIdleTimeout() error {
	switch {
	case o.NodeIdleTimeout < 0:
		return fmt.Errorf("--node-idle-timeout %s: give a time that is not negative, such as 5m", o.NodeIdleTimeout)
	case o.NodeIdleTimeout > 0 && o.autoscale == nil:
		return fmt.Errorf("--node-idle-timeout %s: without --nodes MIN-MAX, nodes stay whether they have jobs or not", o.NodeIdleTimeout)
	}
	return nil
}

func (o *Options) checkLifecycle() error {
	o.lifecycle = v1alpha1.LifecycleSpec{}
	return errors.Join(
		lifecycleTime("ttl", o.TTL, &o.lifecycle.TTL),
		lifecycleTime("idle-timeout", o.IdleTimeout, &o.lifecycle.IdleTimeout),
	)
}

// lifecycleTime reads a time; an empty one is left out.
func lifecycleTime(flag, text string, into **metav1.Duration) error {
	if text == "" {
		return nil
	}
	d, err := lifetime.Parse(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	*into = &metav1.Duration{Duration: d}
	return nil
}

func (o *Options) checkQuantities() error {
	return errors.Join(
		quantity("cpus", o.CPUs, smallestCPU, "at least 1, because Slurm gives jobs whole CPUs", &o.cpus),
		quantity("memory", o.Memory, smallestMemory,
			"at least 128Mi, because slurmd and a job's shell need that much (Mi and Gi are the usual units; m means thousandths)", &o.memory),
		request("cpu-request", o.CPURequest, "cpus", o.CPUs, &o.cpuRequest),
		request("memory-request", o.MemoryRequest, "memory", o.Memory, &o.memoryRequest),
		quantity("storage", cmp.Or(o.Storage, defaultStorage), smallestStorage, "more than nothing, such as 1Gi", &o.storage),
	)
}

// request checks what is set aside against what a node has; an empty one is left out.
func request(flag, text, ofFlag, ofText string, into **resource.Quantity) error {
	if text == "" {
		return nil
	}
	value := &resource.Quantity{}
	if err := quantity(flag, text, resource.Quantity{}, "zero or more", value); err != nil {
		return err
	}
	if all, err := resource.ParseQuantity(ofText); err == nil && value.Cmp(all) > 0 {
		return fmt.Errorf("--%s %s is more than --%s %s; it can be as much at most", flag, text, ofFlag, ofText)
	}
	*into = value
	return nil
}

func quantity(flag, text string, smallest resource.Quantity, rule string, into *resource.Quantity) error {
	value, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("--%s %q is not a quantity; write a number such as 2, or with a unit such as 512Mi or 4Gi", flag, text)
	}
	if value.Cmp(smallest) < 0 {
		return fmt.Errorf("--%s %s is too little: it must be %s", flag, text, rule)
	}
	*into = value
	return nil
}

func (o *Options) checkImage() error {
	if o.Image != "" && (len(o.Image) > maxImage || !imageName.MatchString(o.Image)) {
		return fmt.Errorf("--image %q is not an image; write it like ghcr.io/slurmcluster/slurm:TAG", o.Image)
	}
	return nil
}

func (o *Options) checkFeatures() error {
	if len(o.Features) > maxFeatures {
		return fmt.Errorf("--features has %d names; %d is the most", len(o.Features), maxFeatures)
	}
	for i, feature := range o.Features {
		if len(feature) > maxFeature || !featureName.MatchString(feature) {
			return fmt.Errorf("--features %q cannot be used: a feature starts with a letter or digit and has at most %d letters, digits, '-', '_' and '.'",
				feature, maxFeature)
		}
		if slices.Contains(o.Features[:i], feature) {
			return fmt.Errorf("--features has %q twice; give it once", feature)
		}
	}
	return nil
}

func (o *Options) checkClass() error {
	if o.Class != "" && len(validation.IsDNS1123Subdomain(o.Class)) > 0 {
		return fmt.Errorf("--class %q is not the name of a class; see: kubectl get slurmclusterclasses", o.Class)
	}
	return nil
}

func (o *Options) checkHome() error {
	o.home = nil
	switch {
	case o.Home != "" && o.HomeSize != "":
		return errors.New("--home names a claim that exists and --home-size asks for a new one; give one of them")
	case o.KeepHome && o.HomeSize == "":
		return errors.New("--keep-home is for a new claim, by --home-size; one that exists stays anyway")
	case o.Home != "":
		if len(validation.IsDNS1123Subdomain(o.Home)) > 0 {
			return fmt.Errorf("--home %q is not the name of a claim; see: kubectl get persistentvolumeclaims", o.Home)
		}
		o.home = &v1alpha1.HomeSpec{ClaimName: o.Home}
	case o.HomeSize != "":
		size := &resource.Quantity{}
		if err := quantity("home-size", o.HomeSize, smallestStorage, "more than nothing, such as 10Gi", size); err != nil {
			return err
		}
		o.home = &v1alpha1.HomeSpec{Size: size, Keep: o.KeepHome}
	}
	if o.home == nil {
		return nil
	}
	for _, v := range o.volumes {
		if v.MountPath == contract.HomeDir || v.Name == "home" {
			return fmt.Errorf("--volume %s is a home, too; leave out one of them", v.MountPath)
		}
	}
	return nil
}

func (o *Options) checkStorageClass() error {
	if o.StorageClass == "" {
		return nil
	}
	if problems := validation.IsDNS1123Subdomain(o.StorageClass); len(problems) > 0 || len(o.StorageClass) > maxClass {
		return fmt.Errorf("--storage-class %q is not the name of a storage class; see: kubectl get storageclasses", o.StorageClass)
	}
	return nil
}

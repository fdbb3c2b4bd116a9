package create

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/lifetime"
)

// The rules are those of the custom resource's schema, said in terms of flags. A test holds the two together.
const (
	maxName  = 40
	maxImage = 500
	maxClass = 253

	defaultStorage = "1Gi"
)

var (
	dnsName   = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	imageName = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$`)
	className = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	aboveZero = resource.MustParse("1n")
)

// Validate checks everything before a request is sent, and turns text into values.
func (o *Options) Validate() error {
	checks := []func() error{
		o.checkName, o.checkNodeSets, o.checkPartitions, o.checkStorage, o.checkImage, o.checkStorageClass, o.checkVolumes,
		o.checkConfig, o.checkLifecycle, o.checkClass, o.checkHome, o.checkAuth, o.checkNetwork, o.checkSet,
	}
	all := make([]error, 0, len(checks))
	for _, check := range checks {
		all = append(all, check())
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	cluster, err := o.build()
	if err != nil || !o.nodesGiven || len(cluster.Spec.NodeSets) == 0 {
		return err // node sets that may be a class's are not known here
	}
	return checkPartitionSets(&cluster.Spec)
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

func (o *Options) checkLifecycle() error {
	o.lifecycle = v1alpha1.LifecycleSpec{}
	return errors.Join(
		duration("--ttl", o.TTL, &o.lifecycle.TTL),
		duration("--idle-timeout", o.IdleTimeout, &o.lifecycle.IdleTimeout),
	)
}

// duration reads a time; an empty one is left out.
func duration(flag, text string, into **metav1.Duration) error {
	if text == "" {
		return nil
	}
	d, err := lifetime.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	*into = &metav1.Duration{Duration: d}
	return nil
}

func (o *Options) checkStorage() error {
	return quantity("--storage", cmp.Or(o.Storage, defaultStorage), aboveZero, "more than nothing, such as 1Gi", &o.storage)
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
		return fmt.Errorf("%s %s is more than %s %s; it can be as much at most", flag, text, ofFlag, ofText)
	}
	*into = value
	return nil
}

func quantity(flag, text string, smallest resource.Quantity, rule string, into *resource.Quantity) error {
	value, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("%s %q is not a quantity; write a number such as 2, or with a unit such as 512Mi or 4Gi", flag, text)
	}
	if value.Cmp(smallest) < 0 {
		return fmt.Errorf("%s %s is too little: it must be %s", flag, text, rule)
	}
	*into = value
	return nil
}

func (o *Options) checkImage() error {
	return checkImage("--image", o.Image, "ghcr.io/slurmcluster/slurm:TAG")
}

func checkImage(flag, image, like string) error {
	if image != "" && (len(image) > maxImage || !imageName.MatchString(image)) {
		return fmt.Errorf("%s %q is not an image; write it like %s", flag, image, like)
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
		if err := quantity("--home-size", o.HomeSize, aboveZero, "more than nothing, such as 10Gi", size); err != nil {
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

func (o *Options) checkAuth() error {
	if strings.EqualFold(o.Auth, string(v1alpha1.AuthSlurm)) && strings.EqualFold(o.Isolation, string(v1alpha1.NetworkIsolatedNone)) {
		return errors.New("--auth slurm needs --isolation isolated, because jobs can read the key that opens the cluster; isolate it, or take --auth munge")
	}
	return choose("--auth", o.Auth, &o.auth.Type, v1alpha1.AuthMunge, v1alpha1.AuthSlurm)
}

func (o *Options) checkNetwork() error {
	return errors.Join(
		choose("--isolation", o.Isolation, &o.network.Isolation, v1alpha1.NetworkIsolated, v1alpha1.NetworkIsolatedNone),
		choose("--egress", o.Egress, &o.network.Egress, v1alpha1.NetworkEgressOpen, v1alpha1.NetworkEgressRestricted),
	)
}

// choose finds the word that the API has for a text, in upper or lower case; an empty one is left out.
func choose[Word ~string](flag, text string, into *Word, words ...Word) error {
	if text == "" {
		return nil
	}
	names := make([]string, 0, len(words))
	for _, word := range words {
		if strings.EqualFold(string(word), text) {
			*into = word
			return nil
		}
		names = append(names, strings.ToLower(string(word)))
	}
	return fmt.Errorf("%s %s: choose one of %s", flag, text, strings.Join(names, ", "))
}

// objectName checks the name of an object of Kubernetes, what, which kubectl lists as plural; an empty one is left out.
func objectName(flag, text, what, plural string, into *string) error {
	if text != "" && (len(text) > maxClass || !className.MatchString(text)) {
		return fmt.Errorf("%s %q is not the name of %s; see: kubectl get %s", flag, text, what, plural)
	}
	*into = text
	return nil
}

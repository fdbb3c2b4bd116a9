package create

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	maxPartitions    = 16
	maxPartition     = 32
	maxPartitionSets = 16
	maxTime          = 20
	maxPriorityTier  = 65533
)

var (
	partitionName   = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_]*$`)
	slurmTime       = regexp.MustCompile(`^(UNLIMITED|INFINITE|([0-9]{1,5}-)?[0-9]{1,6}(:[0-9]{1,2}){0,2})$`)
	partitionStates = []v1alpha1.PartitionState{"UP", "DOWN", "DRAIN", "INACTIVE"}
)

// partitionOptions are what one --partition says.
type partitionOptions struct {
	name     string
	nodeSets []string
	// isDefault makes it the partition of jobs that name none.
	isDefault                                           bool
	maxTime, defaultTime, maxNodes, priorityTier, state string
}

func (p *partitionOptions) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("partition", pflag.ContinueOnError)
	flags.StringVar(&p.name, "name", "", "")
	flags.StringSliceVar(&p.nodeSets, "node-sets", nil, "")
	flags.BoolVar(&p.isDefault, "default", false, "")
	flags.StringVar(&p.maxTime, "max-time", "", "")
	flags.StringVar(&p.defaultTime, "default-time", "", "")
	flags.StringVar(&p.maxNodes, "max-nodes", "", "")
	flags.StringVar(&p.priorityTier, "priority-tier", "", "")
	flags.StringVar(&p.state, "state", "", "")
	return flags
}

func (o *Options) checkPartitions() error {
	if len(o.Partitions) > maxPartitions {
		return fmt.Errorf("--partition is given %d times; %d is the most", len(o.Partitions), maxPartitions)
	}
	o.partitions = nil
	var all []error
	for _, text := range o.Partitions {
		var added partitionOptions
		errs := o.addPartition(&added, text)
		all = append(all, within("--partition", cmp.Or(added.name, strconv.Quote(text)), errs))
	}
	return errors.Join(all...)
}

func (o *Options) addPartition(added *partitionOptions, text string) []error {
	if err := readKeys(added.flags(), text); err != nil {
		return []error{err}
	}
	if added.name == "" {
		return []error{errors.New("it has no name; give it one, such as name=day")}
	}
	partition, errs := added.partition()
	for _, other := range o.partitions {
		switch {
		case other.Name == partition.Name:
			errs = append(errs, errors.New("there is a partition of this name already; choose another"))
		case other.Default && partition.Default:
			errs = append(errs, fmt.Errorf("%s is the default already; only one can be", other.Name))
		}
	}
	o.partitions = append(o.partitions, partition)
	return errs
}

// partition checks everything and turns text into values. Errors may be nil.
func (p *partitionOptions) partition() (v1alpha1.Partition, []error) {
	partition := v1alpha1.Partition{Name: p.name, Default: p.isDefault, MaxTime: p.maxTime, DefaultTime: p.defaultTime}
	errs := []error{
		p.checkName(),
		p.checkNodeSets(&partition),
		checkTime("max-time", p.maxTime),
		checkTime("default-time", p.defaultTime),
		limit("max-nodes", p.maxNodes, 1, math.MaxInt32, &partition.MaxNodes),
		limit("priority-tier", p.priorityTier, 0, maxPriorityTier, &partition.PriorityTier),
		choose("state", p.state, &partition.State, partitionStates...),
	}
	return partition, errs
}

func (p *partitionOptions) checkName() error {
	switch {
	case len(p.name) > maxPartition || !partitionName.MatchString(p.name):
		return fmt.Errorf("name %q cannot be used: it must start with a letter and have at most %d letters, digits, '-' and '_'", p.name, maxPartition)
	case strings.EqualFold(p.name, "default"):
		return fmt.Errorf("name %q is taken by Slurm; choose another, such as day", p.name)
	}
	return nil
}

// checkNodeSets leaves it to checkPartitionSets whether they exist.
func (p *partitionOptions) checkNodeSets(partition *v1alpha1.Partition) error {
	if len(p.nodeSets) > maxPartitionSets {
		return fmt.Errorf("node-sets has %d names; %d is the most", len(p.nodeSets), maxPartitionSets)
	}
	for i, name := range p.nodeSets {
		if name == "" || len(name) > maxNodeSet {
			return fmt.Errorf("node-sets %q is not the name of a node set; write them with '+' between, such as node-sets=cpu+gpu", name)
		}
		if slices.Contains(p.nodeSets[:i], name) {
			return fmt.Errorf("node-sets has %q twice; give it once", name)
		}
		partition.NodeSets = append(partition.NodeSets, v1alpha1.NodeSetName(name))
	}
	return nil
}

func checkTime(key, text string) error {
	if text != "" && (len(text) > maxTime || !slurmTime.MatchString(text)) {
		return fmt.Errorf("%s %q is not a time of Slurm; write minutes, such as 90, or days-hours:minutes:seconds, such as 1-0 or 2:30:00", key, text)
	}
	return nil
}

// limit reads a number; an empty one is left out.
func limit(key, text string, least, most int32, into **int32) error {
	if text == "" {
		return nil
	}
	var n int32
	if err := number(text, least, most, &n); err != nil {
		return fmt.Errorf("%s %w", key, err)
	}
	*into = &n
	return nil
}

// checkPartitionSets compares the partitions with the node sets, wherever on the command line they stand.
func checkPartitionSets(spec *v1alpha1.SlurmClusterSpec) error {
	names := make([]string, 0, len(spec.NodeSets))
	for i := range spec.NodeSets {
		names = append(names, spec.NodeSets[i].Name)
	}
	for _, partition := range spec.Partitions {
		for _, name := range partition.NodeSets {
			if !slices.Contains(names, string(name)) {
				return fmt.Errorf("partition %s has node set %q, which there is not; choose of %s", partition.Name, name, strings.Join(names, ", "))
			}
		}
	}
	return nil
}

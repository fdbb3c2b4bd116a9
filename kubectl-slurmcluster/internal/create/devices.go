package create

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	maxDevices     = 8
	maxResource    = 253
	maxDeviceCount = 1024
	maxGres        = 32
	maxFiles       = 8
	maxFile        = 128
)

var (
	resourceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	gresName     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	takenGres    = []string{"mps", "shard", "craynetwork"}
	deviceFile   = regexp.MustCompile(`^/dev/[-A-Za-z0-9_./*?\[\]]+$`)
)

func (n *NodeSetOptions) checkDevices(set *v1alpha1.NodeSet) error {
	flag := n.flag("devices")
	if len(n.Devices) > maxDevices {
		return fmt.Errorf("%s is given %d times; %d is the most", flag, len(n.Devices), maxDevices)
	}
	for _, text := range n.Devices {
		device, err := parseDevice(text)
		if err != nil {
			return fmt.Errorf("%s %q: %w", flag, text, err)
		}
		if slices.ContainsFunc(set.Resources.Devices, func(d v1alpha1.Device) bool { return d.Resource == device.Resource }) {
			return fmt.Errorf("%s %s is given twice; give it once", flag, device.Resource)
		}
		set.Resources.Devices = append(set.Resources.Devices, device)
	}
	return nil
}

// parseDevice reads RESOURCE[=N][:GRES][:/dev/FILE...].
func parseDevice(text string) (v1alpha1.Device, error) {
	var device v1alpha1.Device
	parts := strings.Split(text, ":")
	name, count, counted := strings.Cut(parts[0], "=")
	if len(name) > maxResource || !resourceName.MatchString(name) {
		return device, fmt.Errorf("%q is not a device of Kubernetes; write it like nvidia.com/gpu=1; kubectl describe nodes lists them", name)
	}
	device.Resource = name
	if counted {
		if err := number(count, 1, maxDeviceCount, &device.Count); err != nil {
			return device, err
		}
	}
	for _, part := range parts[1:] {
		switch {
		case strings.HasPrefix(part, "/"):
			if len(part) > maxFile || !deviceFile.MatchString(part) {
				return device, fmt.Errorf("%q does not name device files; write it like /dev/xclmgmt*", part)
			}
			device.Files = append(device.Files, v1alpha1.DeviceFile(part))
		case device.Gres != "":
			return device, fmt.Errorf("it has two names in Slurm, %s and %s; give one", device.Gres, part)
		case slices.Contains(takenGres, part):
			return device, fmt.Errorf("%s has a meaning of its own in Slurm; choose another name, such as gpu", part)
		case len(part) > maxGres || !gresName.MatchString(part):
			return device, fmt.Errorf("%q cannot be its name in Slurm: that starts with a lower-case letter "+
				"and has at most %d lower-case letters, digits and '_'", part, maxGres)
		default:
			device.Gres = part
		}
	}
	if len(device.Files) > maxFiles {
		return device, fmt.Errorf("it has %d patterns of files; %d is the most", len(device.Files), maxFiles)
	}
	return device, nil
}

// number reads a whole number within limits.
func number(text string, least, most int32, into *int32) error {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err == nil && int32(n) >= least && int32(n) <= most:
		*into = int32(n)
		return nil
	case most == math.MaxInt32:
		return fmt.Errorf("%q is not a number of at least %d", text, least)
	}
	return fmt.Errorf("%q is not a number from %d to %d", text, least, most)
}

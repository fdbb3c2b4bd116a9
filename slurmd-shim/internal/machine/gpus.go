package machine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jaypipes/ghw"
	"k8s.io/utils/cpuset"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/kernel"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// Vendors of GPUs.
const (
	NVIDIA = "nvidia"
	AMD    = "amd"
	Intel  = "intel"
)

// vendors are the makers of GPUs that compute, by PCI vendor id. The graphics of a server's management
// controller or of a virtual machine are not among them.
var vendors = map[string]string{"10de": NVIDIA, "1002": AMD, "8086": Intel}

// GPU is a GPU or another accelerator of which the device file is there.
type GPU struct {
	// File is its device file, such as /dev/nvidia0 or /dev/dri/renderD128.
	File string
	// Vendor is NVIDIA, AMD, Intel or empty.
	Vendor string
	// Type is the model as Slurm's AutoDetect would write it (nvidia_a100-sxm4-40gb), else the vendor, else empty.
	Type string
	// Near holds the online CPUs next to it; empty when that is not known.
	Near cpuset.CPUSet
	// address is its PCI address, empty when that is not known.
	address string
	number  int
}

// device is a kind of device file.
type device struct {
	name pattern.Lazy
	dir  string
	// class is where the kernel keeps the devices of these files, with links to their PCI devices.
	class string
}

var devices = []device{
	{pattern.New(`^nvidia([0-9]{1,4})$`), "dev", ""},
	{pattern.New(`^renderD([0-9]{1,4})$`), "dev/dri", "sys/class/drm"},
	{pattern.New(`^accel([0-9]{1,4})$`), "dev/accel", "sys/class/accel"},
}

// readGPUs finds the GPUs whose device files are below root, in the order of their PCI addresses: that is how CUDA
// and Slurm count them. A container only has the files of those that are granted to it, while /sys tells of the
// whole machine's. Where there is no such file nothing else is read.
func (m *Machine) readGPUs(root fs.FS, pci func() (*ghw.PCIInfo, error)) error {
	var found []GPU
	for _, kind := range devices {
		entries, err := fs.ReadDir(root, kind.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for GPUs: %w", err)
		}
		for _, entry := range entries {
			match := kind.name().FindStringSubmatch(entry.Name())
			if match == nil || !m.isDevice(entry) {
				continue
			}
			gpu := GPU{File: "/" + path.Join(kind.dir, entry.Name())}
			gpu.number, _ = strconv.Atoi(match[1])
			if kind.class == "" {
				gpu.Vendor = NVIDIA
			} else {
				gpu.address = linkedAddress(root, path.Join(kind.class, entry.Name()))
			}
			found = append(found, gpu)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if err := nameNVIDIA(root, found); err != nil {
		return err
	}
	known, errKnown := pci()
	nameAlike(found, known)
	for i := range found {
		m.identify(root, &found[i], known)
	}
	if errKnown != nil && slices.ContainsFunc(found, func(g GPU) bool { return g.Type == "" }) {
		m.Warnings = append(m.Warnings, "not all models of GPUs are known: "+errKnown.Error())
	}
	for i := range found {
		found[i].Type = cmp.Or(found[i].Type, found[i].Vendor)
	}
	m.GPUs = slices.DeleteFunc(found, func(g GPU) bool {
		// An NVIDIA GPU is used by its own file; what else renders is no GPU that computes.
		return strings.HasPrefix(g.File, "/dev/dri/") && g.Vendor != AMD && g.Vendor != Intel
	})
	slices.SortStableFunc(m.GPUs, func(a, b GPU) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.number, b.number))
	})
	return nil
}

// isDevice tells whether a directory entry is a device. In a capture it may be any file.
func (m *Machine) isDevice(entry fs.DirEntry) bool {
	if m.own {
		return entry.Type()&fs.ModeCharDevice != 0
	}
	return !entry.IsDir()
}

// displayClass is the PCI class of GPUs, those without a display as well.
const displayClass = "03"

var pciAddress = pattern.New(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$`)

// linkedAddress is the PCI address of the device that a file of a class belongs to, or empty.
func linkedAddress(root fs.FS, file string) string {
	for _, link := range []string{file + "/device", file} {
		to, err := fs.ReadLink(root, link)
		for parts := strings.Split(to, "/"); err == nil && len(parts) > 0; parts = parts[:len(parts)-1] {
			if last := parts[len(parts)-1]; pciAddress().MatchString(last) {
				return last
			}
		}
	}
	return ""
}

const nvidiaDir = "proc/driver/nvidia/gpus"

var (
	modelLine = pattern.New(`(?m)^Model:[ \t]*(\S.*?)[ \t]*$`)
	minorLine = pattern.New(`(?m)^Device Minor:[ \t]*([0-9]{1,4})[ \t]*$`)
)

// nameNVIDIA gives NVIDIA's GPUs the model and the address that their driver knows them by.
func nameNVIDIA(root fs.FS, gpus []GPU) error {
	entries, err := fs.ReadDir(root, nvidiaDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for NVIDIA's GPUs: %w", err)
	}
	for _, entry := range entries {
		file := "/" + path.Join(nvidiaDir, entry.Name(), "information")
		text, err := kernel.ReadFile(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // masked, as the GPUs that belong to others are
		}
		if err != nil {
			return err
		}
		minor := minorLine().FindStringSubmatch(text)
		if minor == nil {
			return kernel.Malformed(file, text, "a line Device Minor: <number>")
		}
		for i := range gpus {
			if gpus[i].File != "/dev/nvidia"+minor[1] {
				continue
			}
			gpus[i].address = strings.ToLower(entry.Name())
			if model := modelLine().FindStringSubmatch(text); model != nil {
				gpus[i].Type = word(model[1])
			}
		}
	}
	return nil
}

// nameAlike gives GPUs of NVIDIA whose driver says nothing the model that all of the machine's have, and the address
// if there is only one.
func nameAlike(gpus []GPU, known *ghw.PCIInfo) {
	if known == nil {
		return
	}
	var all []*ghw.PCIDevice
	for _, d := range known.Devices {
		if vendors[d.Vendor.ID] != NVIDIA || d.Class.ID != displayClass {
			continue
		}
		if all = append(all, d); d.Product.ID != all[0].Product.ID {
			return
		}
	}
	for i := range gpus {
		if g := &gpus[i]; len(all) > 0 && g.Vendor == NVIDIA && g.address == "" {
			g.Type = cmp.Or(g.Type, productName(all[0].Product.Name))
			if len(all) == 1 {
				g.address = all[0].Address
			}
		}
	}
}

// identify fills in what the PCI bus tells about a GPU.
func (m *Machine) identify(root fs.FS, g *GPU, known *ghw.PCIInfo) {
	if g.address != "" {
		near, err := kernel.ReadCPUList(root, "/sys/bus/pci/devices/"+g.address+"/local_cpulist")
		if err == nil {
			g.Near = near.Intersection(m.Online)
		} else if !errors.Is(err, fs.ErrNotExist) {
			m.Warnings = append(m.Warnings, "the CPUs next to "+g.File+" are not known: "+err.Error())
		}
		if known != nil {
			if d := known.GetDevice(g.address); d != nil {
				g.Vendor = cmp.Or(vendors[d.Vendor.ID], g.Vendor)
				g.Type = cmp.Or(g.Type, productName(d.Product.Name))
			}
		}
		if g.Vendor == "" {
			id, _ := kernel.ReadFile(root, "/sys/bus/pci/devices/"+g.address+"/vendor")
			g.Vendor = vendors[strings.TrimPrefix(id, "0x")]
		}
	}
}

// unnamed is what ghw calls a device that is not in the list of PCI ids.
const unnamed = "unknown"

// bracketed is the name under which a chip is sold: "GA100 [A100 SXM4 40GB]".
var bracketed = pattern.New(`\[([^\]]+)\]`)

// productName is a name of the list of PCI ids as a type, or empty if the list has none.
func productName(name string) string {
	if match := bracketed().FindStringSubmatch(name); match != nil {
		name = match[1]
	}
	if name == unnamed {
		return ""
	}
	return word(name)
}

var notInWord = pattern.New(`[^a-z0-9.+-]+`)

// word writes a name as Slurm's AutoDetect does: lower case, with '_' for spaces and for what separates the parts
// of a GRES.
func word(name string) string {
	return strings.Trim(notInWord().ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// pciDevices are the devices on the PCI bus, by their names in the system's list of PCI ids.
func pciDevices(root string) (*ghw.PCIInfo, error) {
	return ghw.PCI(ghw.WithChroot(root), ghw.WithDisableTopology(), ghw.WithDisableTools(), ghw.WithDisableWarnings())
}

package machine

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/jaypipes/ghw"
	"github.com/jaypipes/pcidb"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/cpuset"
)

// pciDevice is a device as ghw tells of it.
func pciDevice(address, vendor, class, product, name string) *ghw.PCIDevice {
	return &ghw.PCIDevice{
		Address: address, Vendor: &pcidb.Vendor{ID: vendor}, Class: &pcidb.Class{ID: class},
		Product: &pcidb.Product{ID: product, Name: name},
	}
}

func file(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
func link(to string) *fstest.MapFile      { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }

func TestGPUs(t *testing.T) {
	const near, far = "/local_cpulist", "sys/bus/pci/devices/"
	a100 := func(minor string) *fstest.MapFile {
		return file("Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 0\nDevice Minor: \t " + minor + "\nGPU Excluded:\t No\n")
	}
	known := []*ghw.PCIDevice{
		pciDevice("0000:41:00.0", "10de", "03", "20b0", "GA100 [A100 SXM4 40GB]"),
		pciDevice("0000:01:00.0", "10de", "03", "20b0", "GA100 [A100 SXM4 40GB]"),
		pciDevice("0000:02:00.0", "10de", "06", "1af1", "GA100 [A100 NVSwitch]"),
		pciDevice("0000:61:00.0", "1002", "03", "740c", "Aldebaran/MI200 [Instinct MI250X/MI250]"),
		pciDevice("0000:62:00.0", "8086", "03", "0bd5", "unknown"),
		pciDevice("0000:63:00.0", "1a03", "03", "2000", "ASPEED Graphics Family"),
		pciDevice("0000:64:00.0", "1da3", "12", "1020", "Gaudi2 AI Training Accelerator"),
	}
	for name, c := range map[string]struct {
		tree     fstest.MapFS
		pci      []*ghw.PCIDevice
		want     []GPU
		warnings []string
	}{
		"none": {tree: fstest.MapFS{"dev/null": file("")}},
		"NVIDIA, in the order of addresses": {
			tree: fstest.MapFS{
				"dev/nvidia0": file(""), "dev/nvidia1": file(""), "dev/nvidiactl": file(""), "dev/nvidia-uvm": file(""),
				nvidiaDir + "/0000:41:00.0/information": a100("0"), nvidiaDir + "/0000:01:00.0/information": a100("1"),
				far + "0000:41:00.0" + near: file("4-9\n"), far + "0000:01:00.0" + near: file("0-3\n"),
			},
			want: []GPU{
				{File: "/dev/nvidia1", Vendor: NVIDIA, Type: "nvidia_a100-sxm4-40gb", Near: cpuset.New(0, 1, 2, 3)},
				{File: "/dev/nvidia0", Vendor: NVIDIA, Type: "nvidia_a100-sxm4-40gb", Near: cpuset.New(4, 5, 6, 7)},
			},
		},
		"NVIDIA, another container has the other": {
			tree: fstest.MapFS{
				"dev/nvidia3":                           file(""),
				nvidiaDir + "/0000:41:00.0/information": a100("0"), nvidiaDir + "/0000:01:00.0": &fstest.MapFile{Mode: fs.ModeDir},
			},
			want: []GPU{{File: "/dev/nvidia3", Vendor: NVIDIA, Type: "a100_sxm4_40gb"}},
		},
		"NVIDIA, the only one": {
			tree: fstest.MapFS{"dev/nvidia0": file(""), far + "0000:01:00.0" + near: file("0-7\n")},
			pci:  known[1:3],
			want: []GPU{{File: "/dev/nvidia0", Vendor: NVIDIA, Type: "a100_sxm4_40gb", Near: cpuset.New(0, 1, 2, 3, 4, 5, 6, 7)}},
		},
		"AMD and Intel": {
			tree: fstest.MapFS{
				"dev/kfd": file(""), "dev/dri/card0": file(""), "dev/dri/renderD128": file(""), "dev/dri/renderD129": file(""),
				"dev/dri/renderD130": file(""), "dev/dri/renderD131": file(""),
				"sys/class/drm/renderD128": link("../../devices/pci0000:60/0000:60:01.1/0000:61:00.0/drm/renderD128"),
				"sys/class/drm/renderD129": link("../../devices/pci0000:60/0000:62:00.0/drm/renderD129"),
				"sys/class/drm/renderD130": link("../../devices/pci0000:60/0000:63:00.0/drm/renderD130"),
			},
			want: []GPU{
				{File: "/dev/dri/renderD128", Vendor: AMD, Type: "instinct_mi250x_mi250"},
				{File: "/dev/dri/renderD129", Vendor: Intel, Type: "intel"},
			},
		},
		"an accelerator": {
			tree: fstest.MapFS{
				"dev/accel/accel0": file(""), "sys/class/accel/accel0/device": link("../../../0000:64:00.0"),
			},
			want: []GPU{{File: "/dev/accel/accel0", Type: "gaudi2_ai_training_accelerator"}},
		},
		"no list of names": {
			tree: fstest.MapFS{
				"dev/nvidia0": file(""), "dev/dri/renderD128": file(""), "sys/class/drm/renderD128": link("../../devices/pci0000:00/0000:61:00.0/drm/renderD128"),
				far + "0000:61:00.0/vendor": file("0x1002\n"), far + "0000:61:00.0" + near: file("x"),
			},
			pci: []*ghw.PCIDevice{},
			want: []GPU{
				{File: "/dev/nvidia0", Vendor: NVIDIA, Type: "nvidia"},
				{File: "/dev/dri/renderD128", Vendor: AMD, Type: "amd"},
			},
			warnings: []string{
				`the CPUs next to /dev/dri/renderD128 are not known: /sys/bus/pci/devices/0000:61:00.0/local_cpulist holds "x", expected a list such as 0-3,8`,
				"not all models of GPUs are known: no list",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := Machine{Online: cpuset.New(0, 1, 2, 3, 4, 5, 6, 7)}
			require.NoError(t, m.readGPUs(c.tree, func() (*ghw.PCIInfo, error) {
				if c.pci == nil {
					return &ghw.PCIInfo{Devices: known}, nil
				}
				if len(c.pci) == 0 {
					return nil, errors.New("no list")
				}
				return &ghw.PCIInfo{Devices: c.pci}, nil
			}))
			for i := range m.GPUs {
				m.GPUs[i].address, m.GPUs[i].number = "", 0
			}
			require.Equal(t, c.want, m.GPUs)
			require.Equal(t, c.warnings, m.Warnings)
		})
	}
}

// TestGPUsOfAnotherDriver: a driver that says something else is not believed.
func TestGPUsOfAnotherDriver(t *testing.T) {
	m := Machine{}
	err := m.readGPUs(fstest.MapFS{"dev/nvidia0": file(""), nvidiaDir + "/0000:01:00.0/information": file("Device Minor: x")}, nil)
	require.EqualError(t, err, `/proc/driver/nvidia/gpus/0000:01:00.0/information holds "Device Minor: x", expected a line Device Minor: <number>`)
}

// TestGPUsNotDevices: on a machine, not in a capture, only device files are devices.
func TestGPUsNotDevices(t *testing.T) {
	m := Machine{own: true}
	require.NoError(t, m.readGPUs(fstest.MapFS{"dev/nvidia0": file("")}, nil))
	require.Empty(t, m.GPUs)
}

func FuzzGPUs(f *testing.F) {
	f.Add("Model: x\nDevice Minor: 0\n", "../../0000:01:00.0/drm/renderD128", "0-3")
	f.Fuzz(func(t *testing.T, information, to, cpus string) {
		m := Machine{Online: cpuset.New(0, 1)}
		err := m.readGPUs(fstest.MapFS{
			"dev/nvidia0": file(""), "dev/dri/renderD128": file(""), "sys/class/drm/renderD128": link(to),
			nvidiaDir + "/0000:01:00.0/information": file(information), "sys/bus/pci/devices/0000:01:00.0/local_cpulist": file(cpus),
		}, func() (*ghw.PCIInfo, error) { return nil, errors.New("none") })
		for _, g := range m.GPUs {
			require.NoError(t, err)
			require.True(t, g.Near.IsSubsetOf(m.Online))
			require.Regexp(t, `^[a-z0-9.+_-]*$`, g.Type)
		}
	})
}

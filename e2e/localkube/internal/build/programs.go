package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/images"
)

// kubernetesVersion is what the programs say of themselves; go.mod pins what
// they are.
const kubernetesVersion = "v1.37.1"

const versionPackage = "k8s.io/component-base/version"

const kubernetesFlags = "-s -w -X " + versionPackage + ".gitVersion=" + kubernetesVersion +
	" -X " + versionPackage + ".gitMajor=1 -X " + versionPackage + ".gitMinor=37"

// program is one thing that the Go compiler makes for us.
type program struct {
	Name    string
	Module  string // directory of the module, relative to our source
	Package string
	LDFlags string
	Tags    string
	CGO     bool
	Links   []string // further names of a multi-call binary
}

// Part is what is built at a time, and cached under a key of its own.
type Part struct {
	// inputs are the files and directories, in our module, that the programs
	// are made of. go.sum vouches for everything else.
	inputs []string
	// programs are in the order of building.
	programs []program
	images   []images.Image
	// optional: a cluster can do without it.
	optional bool
}

// Kubernetes is what every cluster runs.
var Kubernetes = Part{
	inputs:   []string{"go.mod", "go.sum", "cmd", "runtime/containerd", "runtime/runc", "internal/images"},
	programs: kubernetes,
	images:   images.All,
}

// GVisor is the runtime that a cluster gets only when it is asked for.
var GVisor = Part{
	inputs: []string{"runtime/gvisor"},
	programs: []program{
		{Name: "runsc", Module: "runtime/gvisor", Package: "gvisor.dev/gvisor/runsc", LDFlags: "-s -w"},
		{Name: "containerd-shim-runsc-v1", Module: "runtime/gvisor", Package: "./shim", LDFlags: "-s -w"},
	},
	optional: true,
}

// kubernetes: containerd and runc have modules of their own, so that their
// go.sum pins exactly what their authors tested.
var kubernetes = []program{
	{Name: "pause", Module: ".", Package: "./cmd/pause", LDFlags: "-s -w"},
	{Name: "runc", Module: "runtime/runc", Package: "github.com/opencontainers/runc", LDFlags: "-s -w", Tags: "seccomp", CGO: true},
	{Name: "containerd", Module: "runtime/containerd", Package: "github.com/containerd/containerd/v2/cmd/containerd", LDFlags: "-s -w"},
	{Name: "containerd-shim-runc-v2", Module: "runtime/containerd", Package: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", LDFlags: "-s -w"},
	{Name: "ctr", Module: "runtime/containerd", Package: "github.com/containerd/containerd/v2/cmd/ctr", LDFlags: "-s -w"},
	{
		Name: "node", Module: ".", Package: "./cmd/node", LDFlags: kubernetesFlags,
		Links: []string{
			"kubectl", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy",
		},
	},
	{Name: "coredns", Module: ".", Package: "./cmd/coredns", LDFlags: "-s -w"},
}

// Toolchain is the part of `go env` that decides what comes out of a build.
type Toolchain struct {
	GOVERSION string
	GOARCH    string
}

// FindToolchain asks the go command.
func FindToolchain(ctx context.Context, source string) (Toolchain, error) {
	var found Toolchain
	command := exec.CommandContext(ctx, "go", "env", "-json", "GOVERSION", "GOARCH")
	command.Dir = source
	output, err := command.Output()
	if err != nil {
		return found, fmt.Errorf("asking the go command for its version (is Go installed and on PATH?): %w", err)
	}
	if err := json.Unmarshal(output, &found); err != nil {
		return found, fmt.Errorf("reading the answer of `go env`: %w", err)
	}
	return found, nil
}

// compile builds one program into the directory bin.
func (p program) compile(ctx context.Context, source, bin string) error {
	command := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-tags", p.Tags, "-ldflags", p.LDFlags, "-o", filepath.Join(bin, p.Name), p.Package)
	command.Dir = filepath.Join(source, p.Module)
	cgo := "CGO_ENABLED=0"
	if p.CGO {
		cgo = "CGO_ENABLED=1"
	}
	command.Env = append(os.Environ(), cgo, "GOOS=linux", "GOFLAGS=", "GOWORK=off")
	output, err := command.CombinedOutput()
	if err != nil {
		hint := ""
		if p.CGO {
			hint = " (it needs the Debian packages gcc libc6-dev libseccomp-dev)"
		}
		return fmt.Errorf("building %s%s: %w:\n%s", p.Name, hint, err, lastLines(string(output), 20))
	}
	for _, link := range p.Links {
		if err := os.Symlink(p.Name, filepath.Join(bin, link)); err != nil {
			return fmt.Errorf("naming %s: %w", link, err)
		}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

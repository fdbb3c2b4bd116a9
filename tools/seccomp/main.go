// Command seccomp prints containerd's default seccomp profile with what user namespaces need beside it, as a file for a machine's
// kubelet. It is for x86-64.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// allowed are the system calls that make a user namespace and mounts in it. The default profile lets only those make them who have
// CAP_SYS_ADMIN before, and clone only without flags for namespaces.
var allowed = []string{"chroot", "clone", "clone3", "mount", "pivot_root", "setns", "umount2", "unshare"}

func main() {
	spec := &specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}}
	profile := seccomp.DefaultProfile(spec)
	var rules []specs.LinuxSyscall
	for _, rule := range profile.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(allowed, name) })
		if len(rule.Names) > 0 {
			rules = append(rules, rule)
		}
	}
	profile.Syscalls = append(rules, specs.LinuxSyscall{Names: allowed, Action: specs.ActAllow})
	text, err := json.MarshalIndent(profile, "", " ")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}

package launch

import (
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// gvisor tells whether the kernel is gVisor and not Linux, by what images/slurm/gvisor-sockets.c tells it by: gVisor has no CLOCK_TAI.
var gvisor = sync.OnceValue(func() bool {
	var now unix.Timespec
	return unix.ClockGettime(unix.CLOCK_TAI, &now) != nil
})

// reachable is the address at which munged answers that listens on a socket: in gVisor, where containers do not share sockets that
// are files, images/slurm/gvisor-sockets.c takes one without a file.
func reachable(socket string) string {
	if gvisor() {
		return "@" + filepath.Base(socket)
	}
	return socket
}

// gvisorSockets is made from images/slurm/gvisor-sockets.c.
const gvisorSockets = contract.BundleDir + "/lib/gvisor-sockets.so"

// ForPMIx are variables ("NAME=value") that PMIx needs on this kernel in programs and in slurmstepd: PMIx's shared memory fails in
// gVisor.
func ForPMIx() []string {
	if !gvisor() {
		return nil
	}
	return []string{"PMIX_MCA_gds=hash"}
}

// OnThisKernel is the prolog of tasks for what this kernel lacks. OpenMPI takes the IPv6 addresses that gVisor shows, which lead
// nowhere.
func OnThisKernel() TaskProlog {
	if !gvisor() {
		return TaskProlog{}
	}
	return TaskProlog{Kernel: append(ForPMIx(), "OMPI_MCA_btl_tcp_disable_family=6"), Preload: gvisorSockets}
}

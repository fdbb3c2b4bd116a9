package contract

const (
	mib = 1 << 20
	// LeastReserve is what slurmd, its step daemons and their page tables take of a pod's memory limit, in
	// bytes: slurmd idles at 2 MiB and each slurmstepd takes under 10 MiB. It grows with the limit, to one
	// part in ReserveShare, because more steps run at once.
	LeastReserve = 32 * mib
	// ReserveShare is the part of a large limit that is kept for the daemons: one in so many.
	ReserveShare = 100
)

// NodeMemoryMB is the RealMemory, in MiB, of a node whose memory limit is limit bytes. The shim offers it
// and the operator shares it out among the node's CPUs.
func NodeMemoryMB(limit int64) int64 {
	return (limit - max(LeastReserve, limit/ReserveShare)) / mib
}

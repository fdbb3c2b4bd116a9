package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/limits"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/machine"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
)

// report is what inspect prints; its JSON form is an interface.
type report struct {
	Limits   reportLimits  `json:"limits"`
	Machine  reportMachine `json:"machine"`
	Node     nodeconf.Node `json:"node"`
	Warnings []string      `json:"warnings"`
}

type reportLimits struct {
	QuotaCPUs   *float64 `json:"quotaCPUs,omitempty"`
	Cpuset      string   `json:"cpuset,omitempty"`
	MemoryBytes *uint64  `json:"memoryBytes,omitempty"`
}

type reportMachine struct {
	Sockets     int    `json:"sockets"`
	Cores       int    `json:"cores"`
	Threads     int    `json:"threads"`
	NUMANodes   int    `json:"numaNodes"`
	MemoryBytes uint64 `json:"memoryBytes"`
}

func newReport(l limits.Limits, m machine.Machine, n nodeconf.Node, warnings []string) report {
	return report{
		Limits:   reportLimits{l.QuotaCPUs, l.Cpuset.String(), l.MemoryBytes},
		Machine:  reportMachine{m.Sockets(), max(1, len(m.Cores)), m.Threads(), m.NUMANodes, m.MemoryBytes},
		Node:     n,
		Warnings: append([]string{}, warnings...),
	}
}

func inspect() *cobra.Command {
	where := limits.Options{}
	var o nodeconf.Options
	var format string
	c := &cobra.Command{
		Use: "inspect", Args: cobra.NoArgs,
		Short: "Print what the kernel grants, what the machine has and what Slurm would be told",
		RunE: func(c *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return exit.Configf("output format %q: expected text or json", format)
			}
			if !c.Flags().Changed("gres") {
				o.Gres = []nodeconf.GresRequest{{Name: contract.GresGPU}}
			}
			r, err := look(where, o)
			if err != nil {
				return err
			}
			return r.print(c.OutOrStdout(), format)
		},
	}
	c.Flags().StringVar(&where.Root, "root", "/", "directory with a machine's proc and sys")
	c.Flags().StringVar(&where.Cgroup, "cgroup", "", "path of a cgroup to read instead of this process's own")
	c.Flags().StringVarP(&format, "output", "o", "text", "output format: text or json")
	nodeFlags(c, &o)
	return c
}

func (r report) print(out io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range r.rows() {
		fmt.Fprintln(w, strings.Join(row[:], "\t"))
	}
	err := w.Flush()
	for _, warning := range r.Warnings {
		_, errPrint := fmt.Fprintln(out, "Warning:", warning)
		err = errors.Join(err, errPrint)
	}
	return err
}

// rows are the lines of the table; a group's name stands in its first line only.
func (r report) rows() [][3]string {
	n := r.Node
	return [][3]string{
		{"Granted", "CPU quota", orNone(r.Limits.QuotaCPUs, "%.4g CPUs")},
		{"", "cpuset", orNone(nonEmpty(r.Limits.Cpuset), "%s")},
		{"", "memory limit", orNone(inMiB(r.Limits.MemoryBytes), "%d MiB")},
		{"Machine", "sockets", fmt.Sprint(r.Machine.Sockets)},
		{"", "cores", fmt.Sprint(r.Machine.Cores)},
		{"", "online CPUs", fmt.Sprint(r.Machine.Threads)},
		{"", "NUMA nodes", fmt.Sprint(r.Machine.NUMANodes)},
		{"", "memory", fmt.Sprintf("%d MiB", r.Machine.MemoryBytes>>20)},
		{"Slurm", "CPUs", fmt.Sprint(n.CPUs)},
		{"", "shape", fmt.Sprintf("%d board x %d sockets x %d cores x %d threads", n.Boards, n.SocketsPerBoard, n.CoresPerSocket, n.ThreadsPerCore)},
		{"", "memory", fmt.Sprintf("%d MiB", n.RealMemoryMB)},
		{"", "reserved CPUs", orNone(nonEmpty(n.CPUSpecList), "%s")},
		{"", "gres", orNone(nonEmpty(n.Gres), "%s")},
	}
}

func orNone[T any](v *T, format string) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf(format, *v)
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func inMiB(bytes *uint64) *uint64 {
	if bytes == nil {
		return nil
	}
	mib := *bytes >> 20
	return &mib
}

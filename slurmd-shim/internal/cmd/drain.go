package cmd

import (
	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/leave"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
)

// drain is the hook that the kubelet runs before it ends slurmd.
func (a *app) drain() *cobra.Command {
	return &cobra.Command{
		Use: "drain", Args: cobra.NoArgs,
		Short: "Take no more jobs on this node, and wait until those that it runs have ended",
		RunE: func(c *cobra.Command, _ []string) error {
			host, err := hostname()
			if err != nil {
				return err
			}
			return leave.Leaver{
				Slurm: scontrol.Node{Command: "scontrol", Name: host},
				Steps: func() (int, error) { return leave.Steps("/proc") },
				Log:   a.log,
			}.Run(c.Context())
		},
	}
}

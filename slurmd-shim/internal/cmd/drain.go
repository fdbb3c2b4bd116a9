package cmd

import (
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/leave"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/scontrol"
)

// drain is the hook that the kubelet runs before it ends slurmd.
func (a *app) drain() *cobra.Command {
	return &cobra.Command{
		Use: "drain", Args: cobra.NoArgs,
		Long:  "Reads " + contract.EnvControllerName + " (the name of slurmctld's Service, NAME.NAMESPACE.svc), which is gone once the cluster is.",
		Short: "Take no more jobs on this node, and wait until those that it runs have ended",
		RunE: func(c *cobra.Command, _ []string) error {
			host, err := hostname()
			if err != nil {
				return err
			}
			service := os.Getenv(contract.EnvControllerName)
			if service == "" {
				return exit.Configf("%s is not set: give it the name of slurmctld's Service, NAME.NAMESPACE.svc", contract.EnvControllerName)
			}
			return leave.Leaver{
				Slurm: scontrol.Node{Command: "scontrol", Name: host},
				Steps: func() (int, error) { return leave.Steps("/proc") },
				Gone:  leave.Deleted(net.DefaultResolver, service),
				Log:   a.log,
			}.Run(c.Context())
		},
	}
}

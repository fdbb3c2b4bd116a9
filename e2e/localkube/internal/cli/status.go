package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/cluster"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/control"
)

func newStatus(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show each component; fail when something is not healthy",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			c := s.cluster()
			status, err := c.Status(command.Context())
			if err != nil {
				return err
			}
			if !status.Running {
				return cluster.ErrNotRunning
			}
			if err := printStatus(os.Stdout, c, status); err != nil {
				return err
			}
			if !status.Healthy() {
				return errors.New("the cluster is not healthy")
			}
			return nil
		},
	}
}

func printStatus(out io.Writer, c cluster.Cluster, status cluster.Status) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tSTATE\tRESTARTS\tLAST EXIT")
	fmt.Fprintf(table, "init\t%d\thealthy\t0\t\n", status.InitPID)
	for _, component := range status.Components {
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%s\n",
			component.Name, component.PID, describe(component), component.Restarts, component.LastExit)
	}
	node := "ready"
	if !status.NodeReady {
		node = "not ready: " + status.Node
	}
	fmt.Fprintf(table, "\nnode:\t%s\nkubeconfig:\t%s\nlogs:\t%s\n", node, c.Paths.AdminKubeconfig(), c.Paths.Dir("logs"))
	return table.Flush()
}

func describe(component control.Component) string {
	switch {
	case !component.Wanted:
		return "stopped"
	case component.Healthy:
		return "healthy"
	case component.PID == 0:
		return "not running"
	default:
		return "not healthy"
	}
}

package cmd

import (
	"context"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/ask"
)

// Links are the names under which slurmctld starts this program, with what they mean.
var Links = map[string]string{contract.PowerProgram: "power", contract.PrologProgram: "prolog"}

// tellTime is how long the agent may take to listen.
const tellTime = 5 * time.Second

// power is what slurmctld calls to power nodes up and down: it wakes the operator, which sees in the nodes' states what
// there is to do.
func (a *app) power() *cobra.Command {
	return &cobra.Command{
		Use: Links[contract.PowerProgram], Hidden: true,
		Short: "Tell the agent that Slurm powers nodes up or down",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), tellTime)
			defer cancel()
			return ask.At("127.0.0.1").Post(ctx, contract.AgentPathPower, nil, nil)
		},
	}
}

// prolog is slurmctld's prolog. Slurm looks every 30 seconds whether the nodes of a job have been switched on, and when
// its prolog has ended: so this ends when they have. It never fails, because that would requeue the job.
func (a *app) prolog() *cobra.Command {
	return &cobra.Command{
		Use: Links[contract.PrologProgram], Hidden: true,
		Short: "Wait until the nodes of a job have been switched on",
		Run: func(c *cobra.Command, _ []string) {
			path := contract.AgentPathProlog + "?nodes=" + url.QueryEscape(os.Getenv("SLURM_JOB_NODELIST"))
			if err := ask.At("127.0.0.1").Get(c.Context(), path, nil); err != nil {
				a.log.Warn("a job may start up to 30 seconds late", "job", os.Getenv("SLURM_JOB_ID"), "error", err)
			}
		},
	}
}

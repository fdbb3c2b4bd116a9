package sbatch

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
)

// submitted is the job, and the form of its JSON.
type submitted struct {
	ID        string `json:"id"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
}

// parsable is what sbatch --parsable prints: the id and, in some clusters, the name that Slurm has for them.
var parsable = regexp.MustCompile(`^([0-9]+)(?:;\S*)?$`)

func submitForPrograms(ctx context.Context, env *cli.Env, cluster *pods.Cluster, args []string, format *output.Format) error {
	var out bytes.Buffer
	streams := env.IOStreams
	streams.Out = &out
	if err := submit(ctx, cluster, append([]string{"--parsable"}, args...), streams); err != nil {
		return err
	}
	match := parsable.FindStringSubmatch(strings.TrimSpace(out.String()))
	if match == nil {
		return fmt.Errorf("sbatch told no id of a job but: %s", strings.TrimSpace(out.String()))
	}
	job := submitted{ID: match[1], Cluster: cluster.Name, Namespace: cluster.Namespace}
	return format.Print(env.Out, job, []string{job.ID}, nil)
}

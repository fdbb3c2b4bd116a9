package wait

import (
	"fmt"
	"io"
	"time"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

// Tell waits for the cluster, shows on errOut what for, and says on out how it went: what done makes of the cluster.
func Tell(out, errOut io.Writer, name string, start time.Time,
	wait func(report func(string)) (*v1alpha1.SlurmCluster, error), done func(*v1alpha1.SlurmCluster) string) error {
	line := progress.New(errOut)
	cluster, err := wait(func(state string) { line.Update(name + ": " + state) })
	line.Clear()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s/%s %s, in %s\n", cli.QualifiedSingular, name, done(cluster), progress.Elapsed(start))
	return err
}

// Size says that a cluster is ready, and how large it is.
func Size(cluster *v1alpha1.SlurmCluster) string {
	var nodes, cpus int32
	if cluster.Status.ReadyNodes != nil {
		nodes = *cluster.Status.ReadyNodes
	}
	if cluster.Status.CPUs != nil {
		cpus = *cluster.Status.CPUs
	}
	return "ready: " + progress.Count(nodes, "node") + ", " + progress.Count(cpus, "CPU")
}

package logs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// usualNames lists the files that jobs write when they say nothing else about their output.
const usualNames = `ls -vd -- slurm-"$0".out slurm-"$0"_*.out 2>/dev/null; true`

var slurmFile = regexp.MustCompile(`^slurm-([0-9]+(?:_[0-9]+)?)\.out$`)

// searchForgotten looks for the output of a job that slurmctld does not know any more.
func (o *options) searchForgotten(ctx context.Context) error {
	all, err := o.cluster.All(ctx)
	if err != nil {
		return err
	}
	var files []output
	var unreachable []error
	seen := map[string]bool{} // a shared directory shows a file in every pod
	for _, target := range all {
		names, err := o.usualFiles(ctx, target)
		unreachable = append(unreachable, err)
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				files = append(files, output{path: path.Join(contract.HomeDir, name), target: target})
			}
		}
	}
	if len(files) == 0 {
		return errors.Join(append(unreachable, fmt.Errorf("job %s is unknown: there was none, or Slurm has forgotten it "+
			"some time after its end; no pod of the cluster has %s/slurm-%s.out", o.id, contract.HomeDir, o.id))...)
	}
	o.headed = len(files) > 1
	for _, file := range files {
		if err := o.header(file.path + " in pod " + file.target.Pod); err != nil {
			return err
		}
		if err := printFile(ctx, o.cluster, file.target, file.path, o.env.Out, o.env.ErrOut); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) usualFiles(ctx context.Context, target podexec.Target) ([]string, error) {
	listing, err := o.cluster.Output(ctx, target, "sh", "-c", "cd "+contract.HomeDir+" && "+usualNames, o.id)
	var names []string
	for line := range strings.Lines(listing) {
		if name := strings.TrimSpace(line); slurmFile.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, err
}

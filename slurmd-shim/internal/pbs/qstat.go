package pbs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// separator is between fields: nothing that people write into a job has it.
const separator = "\x1f"

// job is what squeue says of one.
type job struct {
	id, name, user, elapsed, state, queue, reason, nodes, limit, cpus, nodeCount, directory string
}

// jobFormat is squeue's, for the fields of job in their order.
var jobFormat = strings.Join([]string{"%i", "%j", "%u", "%M", "%T", "%P", "%r", "%N", "%l", "%C", "%D", "%Z"}, separator)

func parseJob(line string) (job, error) {
	f := strings.Split(line, separator)
	if len(f) != 12 {
		return job{}, fmt.Errorf("squeue says %q, which is not what was asked for", line)
	}
	return job{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11]}, nil
}

// letter is the state as PBS writes it.
func (j job) letter() string {
	switch j.state {
	case "PENDING":
		if strings.Contains(j.reason, "Held") {
			return "H"
		}
		return "Q"
	case "RUNNING", "CONFIGURING", "STAGE_OUT":
		return "R"
	case "COMPLETING", "SIGNALING":
		return "E"
	case "SUSPENDED", "STOPPED":
		return "S"
	case "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT":
		return "W"
	}
	return "C"
}

func qstat() *cobra.Command {
	var full, running, waiting, ended, nodes, all bool
	var user string
	c := &cobra.Command{
		Use: "qstat [options] [JOB...]", Short: "Show jobs",
		RunE: func(c *cobra.Command, args []string) error {
			options := []string{"--noheader", "--format=" + jobFormat}
			switch {
			case running:
				options = append(options, "--states=RUNNING,SUSPENDED,COMPLETING")
			case waiting:
				options = append(options, "--states=PENDING")
			case ended || len(args) > 0:
				options = append(options, "--states=all")
			}
			if user != "" {
				options = append(options, "--user="+user)
			}
			jobs, err := find(c.Context(), options, args)
			if err != nil {
				return err
			}
			if full {
				return printFull(c.OutOrStdout(), jobs)
			}
			return printTable(c.OutOrStdout(), jobs, nodes)
		},
	}
	c.Flags().BoolVarP(&full, "full", "f", false, "everything about each job")
	c.Flags().BoolVarP(&all, "all", "a", false, "as without")
	c.Flags().BoolVarP(&running, "running", "r", false, "jobs that run")
	c.Flags().BoolVarP(&waiting, "idle", "i", false, "jobs that wait")
	c.Flags().BoolVarP(&ended, "ended", "x", false, "jobs that have ended, too")
	c.Flags().BoolVarP(&nodes, "nodes", "n", false, "with the nodes of each job")
	c.Flags().StringVarP(&user, "user", "u", "", "jobs of this `USER`")
	c.MarkFlagsMutuallyExclusive("running", "idle", "ended")
	return c
}

// find asks for all jobs, or for each of those that are named, so that the error names the one that is unknown.
func find(ctx context.Context, options, names []string) ([]job, error) {
	asked := [][]string{options}
	if len(names) > 0 {
		asked = nil
		for _, name := range names {
			id, err := jobID(name)
			if err != nil {
				return nil, err
			}
			asked = append(asked, append(options[:len(options):len(options)], "--jobs", id))
		}
	}
	var jobs []job
	for _, options := range asked {
		out, err := slurm(ctx, nil, "squeue", options...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			j, err := parseJob(strings.TrimRight(line, "\n"))
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

func printTable(out io.Writer, jobs []job, nodes bool) error {
	if len(jobs) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	last, line := "", ""
	if nodes {
		last, line = "\tNodes", "\t-----"
	}
	fmt.Fprintf(table, "Job id\tName\tUser\tTime Use\tS\tQueue%s\n", last)
	fmt.Fprintf(table, "-------------------\t----------------\t----------------\t--------\t-\t-----%s\n", line)
	for _, j := range jobs {
		if nodes {
			last = "\t" + j.nodes
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s%s\n", j.id, j.name, j.user, j.elapsed, j.letter(), j.queue, last)
	}
	return table.Flush()
}

func printFull(out io.Writer, jobs []job) error {
	for _, j := range jobs {
		_, err := fmt.Fprintf(out, `Job Id: %s
    Job_Name = %s
    Job_Owner = %s
    job_state = %s
    queue = %s
    exec_host = %s
    Resource_List.nodect = %s
    Resource_List.ncpus = %s
    Resource_List.walltime = %s
    resources_used.walltime = %s
    init_work_dir = %s
    comment = %s

`, j.id, j.name, j.user, j.letter(), j.queue, j.nodes, j.nodeCount, j.cpus, j.limit, j.elapsed, j.directory, j.reason)
		if err != nil {
			return err
		}
	}
	return nil
}

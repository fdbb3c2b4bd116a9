// Command scale measures what many clusters and large ones cost the operator, without machines: the pods run nowhere
// (kwok says that they do), and Slurm is one program that answers at the addresses of all of them. The API server, its
// controllers and the operator are real. It needs a Kubernetes on this machine whose own operator it may stop for a while.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

type options struct {
	operator, kwok, stages string
	clusters, nodes        int
	steady                 time.Duration
}

func main() {
	o := options{}
	flag.StringVar(&o.operator, "operator", "bin/operator", "the operator's program")
	flag.StringVar(&o.kwok, "kwok", "bin/kwok", "kwok's program")
	flag.StringVar(&o.stages, "kwok-stages", "", "kwok's directory kustomize/stage")
	flag.IntVar(&o.clusters, "clusters", 1000, "how many clusters of four nodes; 0: none")
	flag.IntVar(&o.nodes, "nodes", 5000, "of how many nodes one cluster is; 0: none")
	flag.DurationVar(&o.steady, "steady", time.Minute, "how long the operator is watched while nothing happens")
	flag.Parse()
	program.Main("bench/scale", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	s, err := newStage(ctx, o)
	defer func() { err = errors.Join(err, s.undo.All(context.WithoutCancel(ctx))) }()
	if err != nil {
		return err
	}
	if o.clusters > 0 {
		if err := s.many(ctx, o.clusters, o.steady); err != nil {
			return fmt.Errorf("%d clusters: %w", o.clusters, err)
		}
	}
	if o.nodes > 0 {
		if err := s.large(ctx, o.nodes, o.steady); err != nil {
			return fmt.Errorf("a cluster of %d nodes: %w", o.nodes, err)
		}
	}
	return s.print(os.Stdout)
}

// row keeps a figure for the table, and tells it.
func (s *stage) row(what, most, measured string) {
	program.Progress("%s: %s", what, measured)
	s.rows = append(s.rows, [3]string{what, measured, most})
}

func (s *stage) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "the operator, without machines\tmeasured\tat most")
	for _, row := range s.rows {
		fmt.Fprintln(table, strings.Join(row[:], "\t"))
	}
	return table.Flush()
}

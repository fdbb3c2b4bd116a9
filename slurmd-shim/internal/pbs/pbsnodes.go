package pbs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// node is what sinfo says of one.
type node struct{ name, state, cpus, memory, features, reason string }

// nodeFormat is sinfo's, for the fields of node in their order.
var nodeFormat = strings.Join([]string{"%N", "%T", "%c", "%m", "%f", "%E"}, separator)

// parseNodes reads what sinfo prints: a line for each node and partition.
func parseNodes(out string) ([]node, error) {
	var nodes []node
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), separator)
		if len(f) != 6 {
			return nil, fmt.Errorf("sinfo says %q, which is not what was asked for", line)
		}
		n := node{f[0], f[1], f[2], f[3], f[4], f[5]}
		if !slices.ContainsFunc(nodes, func(m node) bool { return m.name == n.name }) {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// pbsState is the state as PBS writes it. Slurm's may end in a sign, of which * says that the node does not answer.
func (n node) pbsState() string {
	base := strings.TrimRight(n.state, "*~#!%$@^-+")
	switch {
	case strings.HasSuffix(n.state, "*"), base == "down", strings.HasPrefix(base, "fail"), base == "error":
		return "down"
	case strings.HasPrefix(base, "drain"), base == "maint":
		return "offline"
	case base == "allocated", base == "completing":
		return "job-exclusive"
	case base == "idle", base == "mixed", base == "planned":
		return "free"
	}
	return "state-unknown"
}

func pbsnodes() *cobra.Command {
	var all, list bool
	c := &cobra.Command{
		Use: "pbsnodes [options] [NODE...]", Short: "Show nodes",
		RunE: func(c *cobra.Command, args []string) error {
			options := []string{"--Node", "--noheader", "--all", "--format=" + nodeFormat}
			if len(args) > 0 {
				options = append(options, "--nodes="+strings.Join(args, ","))
			}
			out, err := slurm(c.Context(), nil, "sinfo", options...)
			if err != nil {
				return err
			}
			nodes, err := parseNodes(out)
			if err != nil {
				return err
			}
			for _, name := range args {
				if !slices.ContainsFunc(nodes, func(n node) bool { return n.name == name }) {
					return usagef("there is no node %s", name)
				}
			}
			return printNodes(c.OutOrStdout(), nodes, list)
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "all nodes, as without")
	c.Flags().BoolVarP(&list, "list", "l", false, "a line for each node that takes no jobs")
	return c
}

func printNodes(out io.Writer, nodes []node, list bool) error {
	for _, n := range nodes {
		state := n.pbsState()
		var err error
		switch {
		case !list:
			_, err = fmt.Fprintf(out, "%s\n    state = %s\n    np = %s\n    properties = %s\n    ntype = cluster\n    status = state=%s,slurmstate=%s,ncpus=%s,availmem=%smb\n    note = %s\n\n",
				n.name, state, n.cpus, n.features, state, n.state, n.cpus, n.memory, n.reason)
		case state == "down" || state == "offline" || state == "state-unknown":
			_, err = fmt.Fprintf(out, "%-20s %s\n", n.name, state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Package nodes shows what Slurm, Kubernetes and the nodes themselves say about the nodes of a cluster.
package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/pods"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/slurm"
)

// line is a node of the list, and the form of its JSON.
type line struct {
	slurm.Node
	// Pod is the node's pod and Host where that runs; empty without one.
	Pod  string `json:"pod,omitempty"`
	Host string `json:"host,omitempty"`
}

type list struct {
	Nodes []line `json:"nodes"`
}

// Command returns the command that lists nodes.
func Command(env *cli.Env) *cobra.Command {
	format := output.NewFormat(output.Wide, output.JSON, output.YAML, output.Name)
	cmd := &cobra.Command{
		Use:   "nodes NAME [flags]",
		Short: "List a cluster's nodes",
		Long: `List the nodes that Slurm knows in a cluster. CPUS and MEMORY are what jobs
have, of how much there is. Lines are cut at 80 characters; -o wide shows
everything.`,
		Example: `  kubectl slurmcluster nodes demo
  kubectl slurmcluster nodes demo -o wide`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: env.CompleteName(cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), env, args[0], format) },
	}
	format.AddFlag(cmd)
	return cmd
}

func run(ctx context.Context, env *cli.Env, name string, format *output.Format) error {
	cluster, err := pods.Open(env, name)
	if err != nil {
		return err
	}
	known, err := slurm.Nodes(ctx, cluster)
	if err != nil {
		return err
	}
	byNode, err := podsByNode(ctx, env, cluster)
	if err != nil {
		return err
	}
	if len(known) == 0 && !format.ForPrograms() {
		_, err := fmt.Fprintf(env.ErrOut, "%s has no nodes.\n", name)
		return err
	}
	nodes := list{Nodes: make([]line, 0, len(known))}
	names := make([]string, 0, len(known))
	for _, node := range known {
		l := line{Node: node}
		if pod := byNode[node.Name]; pod != nil {
			l.Pod, l.Host = pod.Name, pod.Spec.NodeName
		}
		nodes.Nodes = append(nodes.Nodes, l)
		names = append(names, node.Name)
	}
	return format.Print(env.Out, nodes, names, func(wide bool) string { return table(nodes.Nodes, wide).String() })
}

// podsByNode are the slurmd pods by the names of their nodes.
func podsByNode(ctx context.Context, env *cli.Env, cluster *pods.Cluster) (map[string]*corev1.Pod, error) {
	kube, err := env.Kube()
	if err != nil {
		return nil, err
	}
	found, err := kube.CoreV1().Pods(cluster.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: cli.PodSelector(cluster.Name, "") + "," + contract.LabelNode})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	byNode := make(map[string]*corev1.Pod, len(found.Items))
	for i := range found.Items {
		byNode[found.Items[i].Labels[contract.LabelNode]] = &found.Items[i]
	}
	return byNode, nil
}

func table(nodes []line, wide bool) *output.Table {
	t := &output.Table{Width: output.Columns, Header: []string{"NAME", "STATE", "CPUS", "MEMORY"}}
	// Few clusters have them, and a line has little room.
	gres := slices.ContainsFunc(nodes, func(l line) bool { return l.Gres != "" })
	if gres {
		t.Header = append(t.Header, "GRES")
	}
	if wide {
		t.Width = 0
		t.Header = append(t.Header, "LOAD", "PARTITIONS", "FEATURES", "VERSION", "HOST")
	}
	t.Header = append(t.Header, "REASON")
	for i := range nodes {
		n := &nodes[i]
		row := []string{n.Name, n.State(), fmt.Sprintf("%d/%d", n.AllocatedCPUs, n.CPUs), memory(n.AllocatedMemory) + "/" + memory(n.MemoryMB)}
		if gres {
			row = append(row, n.Gres)
		}
		if wide {
			row = append(row, fmt.Sprintf("%.2f", n.Load), strings.Join(n.Partitions, ","), strings.Join(n.Features, ","), n.Version, n.Host)
		}
		t.Rows = append(t.Rows, append(row, n.Reason))
	}
	return t
}

// memory is a size as Kubernetes writes it.
func memory(mb int64) string {
	return resource.NewQuantity(mb<<20, resource.BinarySI).String()
}

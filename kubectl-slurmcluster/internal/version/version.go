// Package version tells which versions of the plugin and of the operator are at work.
package version

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmcluster/slurmcluster/charts"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
)

// report is the form of the JSON.
type report struct {
	Plugin string `json:"plugin"`
	// Operators are images with their namespaces, or why none is known.
	Operators []string `json:"operators,omitempty"`
}

// Command returns the command.
func Command(env *cli.Env) *cobra.Command {
	format := output.NewFormat(output.JSON, output.YAML, output.Name)
	var clientOnly bool
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the versions of the plugin and of the operator",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := report{Plugin: Plugin()}
			if !clientOnly {
				r.Operators = operators(cmd, env)
			}
			return format.Print(env.Out, r, []string{r.Plugin}, r.text)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "do not ask Kubernetes")
	format.AddFlag(cmd)
	return cmd
}

func (r report) text(bool) string {
	text := "Plugin:   " + r.Plugin + "\n"
	for _, operator := range r.Operators {
		text += "Operator: " + operator + "\n"
	}
	return text
}

// Plugin is the version of this program; Go records it when the program is built.
func Plugin() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && version == "(devel)" {
			version += " " + setting.Value
		}
	}
	return version
}

// operators are the images of the operators that the user may see, or the reason why none is seen.
func operators(cmd *cobra.Command, env *cli.Env) []string {
	kube, err := env.Kube()
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	list, err := kube.AppsV1().Deployments(metav1.NamespaceAll).List(cmd.Context(),
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + charts.Operator})
	if err != nil {
		return []string{"unknown: " + err.Error()}
	}
	found := make([]string, 0, len(list.Items))
	for i := range list.Items {
		deployment := &list.Items[i]
		found = append(found, fmt.Sprintf("%s in namespace %s", deployment.Spec.Template.Spec.Containers[0].Image, deployment.Namespace))
	}
	if len(found) == 0 {
		return []string{"not installed; install it with: kubectl slurmcluster install"}
	}
	return found
}

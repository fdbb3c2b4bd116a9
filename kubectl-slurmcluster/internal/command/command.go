// Package command runs the commands of the plugin's two programs.
package command

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// usualFlags are the kubeconfig flags that help shows. All of kubectl's are accepted.
const usualFlags = "namespace context kubeconfig"

// width is that of the terminal for which help is written.
const width = 80

// Main runs a command with the program's arguments and ends the program.
func Main(build func(*cli.Env) *cobra.Command) {
	env := cli.New(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	os.Exit(Run(context.Background(), env, build(env)))
}

// Run runs a command, says what went wrong, and returns the exit code.
func Run(ctx context.Context, env *cli.Env, root *cobra.Command) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	addFlags(env, root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code, ran := podexec.ExitCode(err); ran {
		return code // what ran in the pod has said what is wrong
	}
	root.PrintErrln("error:", strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\nerror: "))
	return 1
}

func addFlags(env *cli.Env, root *cobra.Command) {
	kubeconfig := pflag.NewFlagSet("kubeconfig", pflag.ContinueOnError)
	env.Flags.AddFlags(kubeconfig)
	kubeconfig.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !strings.Contains(usualFlags, flag.Name)
	})
	root.PersistentFlags().AddFlagSet(kubeconfig)
	// pflag lets a short last word pass the limit, hence less than the width.
	flagUsages := fmt.Sprintf(".FlagUsagesWrapped %d", width-5)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", flagUsages))
	root.Long = wordwrap.WrapString(root.Long, width)
	for _, c := range root.Commands() {
		c.Long = wordwrap.WrapString(c.Long, width)
	}
}

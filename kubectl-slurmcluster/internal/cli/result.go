package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Result prints a SlurmCluster that a command has made or changed, as kubectl prints objects.
type Result struct {
	*genericclioptions.PrintFlags

	streams genericiooptions.IOStreams
}

// NewResult returns a Result that says, without another format, that operation was done, such as "scaled".
func NewResult(env *Env, operation string) *Result {
	r := &Result{PrintFlags: genericclioptions.NewPrintFlags(operation).WithTypeSetter(Scheme)}
	if env != nil {
		r.streams = env.IOStreams
	}
	return r
}

// AddFlags adds --output.
func (r *Result) AddFlags(cmd *cobra.Command) {
	r.PrintFlags.AddFlags(cmd)
	cmd.Flags().Lookup("output").Usage = "json, yaml, name, jsonpath=... and what else kubectl has"
	for _, name := range []string{"allow-missing-template-keys", "show-managed-fields", "template"} {
		cmd.Flags().Lookup(name).Hidden = true // of use to few, a screen long
	}
	CompleteFlag(cmd, "output", cobra.FixedCompletions([]cobra.Completion{"json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp))
}

// Print prints the object.
func (r *Result) Print(object runtime.Object) error {
	printer, err := r.ToPrinter()
	if err != nil {
		return err
	}
	if err := printer.PrintObj(object, r.streams.Out); err != nil {
		return fmt.Errorf("printing the SlurmCluster: %w", err)
	}
	return nil
}

// Notes is where sentences for people go: not where an object was printed in a format that programs read.
func (r *Result) Notes() io.Writer {
	if *r.OutputFormat != "" {
		return r.streams.ErrOut
	}
	return r.streams.Out
}

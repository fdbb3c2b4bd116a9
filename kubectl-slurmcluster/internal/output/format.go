// Package output prints what is no object of Kubernetes, in the formats that kubectl has for objects.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// Formats. Text is for people, Wide is that with more columns.
const (
	Text = ""
	Wide = "wide"
	JSON = "json"
	YAML = "yaml"
	Name = "name"
)

// Format is the value of --output.
type Format struct {
	value   string
	allowed []string
}

// NewFormat returns a format that is one of these, or Text.
func NewFormat(allowed ...string) *Format { return &Format{allowed: allowed} }

// AddFlag adds --output to a command.
func (f *Format) AddFlag(cmd *cobra.Command) {
	cmd.Flags().VarP(f, "output", "o", f.list()+"; default: text for people")
	cli.CompleteFlag(cmd, "output", cobra.FixedCompletions(f.allowed, cobra.ShellCompDirectiveNoFileComp))
}

// Set implements pflag.Value.
func (f *Format) Set(text string) error {
	if text != Text && !slices.Contains(f.allowed, text) {
		return fmt.Errorf("it is not known; use %s", f.list())
	}
	f.value = text
	return nil
}

// String implements pflag.Value.
func (f *Format) String() string { return f.value }

// Type implements pflag.Value.
func (f *Format) Type() string { return "string" }

func (f *Format) list() string {
	last := len(f.allowed) - 1
	if last < 1 {
		return strings.Join(f.allowed, "")
	}
	return strings.Join(f.allowed[:last], ", ") + " or " + f.allowed[last]
}

// Is says whether it is one of these.
func (f *Format) Is(values ...string) bool { return slices.Contains(values, f.value) }

// ForPrograms says whether a program reads what is printed.
func (f *Format) ForPrograms() bool { return !f.Is(Text, Wide) }

// Print prints value as JSON or YAML, names a line each, or what text writes.
func (f *Format) Print(out io.Writer, value any, names []string, text func(wide bool) string) error {
	var written string
	switch f.value {
	case JSON:
		indented, err := json.MarshalIndent(value, "", "    ")
		if err != nil {
			return err
		}
		written = string(indented) + "\n"
	case YAML:
		lines, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		written = string(lines)
	case Name:
		for _, name := range names {
			written += name + "\n"
		}
	default:
		written = text(f.value == Wide)
	}
	_, err := io.WriteString(out, written)
	return err
}

package list

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usages are shorter words for flags that kubectl describes at length.
var usages = map[string]string{
	"output":     "json, yaml, name, wide, jsonpath=..., custom-columns=... and what else kubectl get has",
	"selector":   "list those with these labels, such as team=a",
	"sort-by":    "sort by a field, such as .metadata.creationTimestamp",
	"no-headers": "print no headers",
}

// hide hides flags that are of use to few.
func hide(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains(shown, flag.Name)
		if usage := usages[flag.Name]; usage != "" {
			flag.Usage = usage
		}
	})
}

package cmd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// nodeFlags adds the flags that change what a node is.
func nodeFlags(c *cobra.Command, o *nodeconf.Options) {
	c.Flags().BoolVar(&o.RoundUp, "round-up", false, "count a CPU limit below 1 as 1 instead of refusing it")
	c.Flags().Func("task-binding", "Cores: bind tasks to cores, which needs an exclusive cpuset; None (default): do not", func(value string) error {
		o.Bind = value == contract.TaskBindingCores
		if !o.Bind && value != "None" {
			return fmt.Errorf("expected None or %s", contract.TaskBindingCores)
		}
		return nil
	})
	c.Flags().Func("gres", "generic resource to offer, as name[:count][=file,...]: gpu finds its devices by itself, others by the patterns of "+
		"their files, or have none; may be repeated", func(value string) error {
		request, err := parseGres(value)
		o.Gres = append(o.Gres, request)
		return err
	})
}

var gresFlag = pattern.New(`^([a-z][a-z0-9_]{0,31})(?::([1-9][0-9]{0,5}))?(?:=(.+))?$`)

func parseGres(value string) (nodeconf.GresRequest, error) {
	match := gresFlag().FindStringSubmatch(value)
	if match == nil {
		return nodeconf.GresRequest{}, fmt.Errorf("expected a GRES such as gpu, gpu:2 or fpga:1=/dev/fpga*")
	}
	r := nodeconf.GresRequest{Name: match[1], Wanted: match[3]}
	r.Count, _ = strconv.Atoi(match[2])
	for _, pattern := range patterns(r) {
		if !filepath.IsAbs(pattern) {
			return r, fmt.Errorf("%s is not an absolute path", pattern)
		}
		if _, err := filepath.Match(pattern, ""); err != nil {
			return r, fmt.Errorf("pattern %s: %w", pattern, err)
		}
	}
	return r, nil
}

func patterns(r nodeconf.GresRequest) []string {
	return strings.FieldsFunc(r.Wanted, func(c rune) bool { return c == ',' })
}

// deviceFile is a name that Slurm does not take for a list of several.
var deviceFile = pattern.New(`^/[A-Za-z0-9._/:@+-]+$`)

// findFiles looks below root for the device files of each GRES that names some.
func findFiles(root string, requests []nodeconf.GresRequest) ([]nodeconf.GresRequest, error) {
	found := make([]nodeconf.GresRequest, 0, len(requests))
	for _, r := range requests {
		for _, pattern := range patterns(r) {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				return nil, fmt.Errorf("look for %s: %w", pattern, err)
			}
			for _, file := range files {
				if below := filepath.Join("/", strings.TrimPrefix(file, filepath.Clean(root))); deviceFile().MatchString(below) {
					r.Files = append(r.Files, below)
				}
			}
		}
		found = append(found, r)
	}
	return found, nil
}

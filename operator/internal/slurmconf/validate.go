package slurmconf

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
)

// refused are parameters that the operator owns although it does not write them in every cluster, because
// what they name does not exist in its pods or would take the cluster out of its hands. The schema of
// SlurmCluster refuses them too.
var refused = []string{
	"AccountingStorageHost", "AccountingStoragePass", "AccountingStoragePort", "AccountingStorageType",
	"AccountingStorageUser", "BackupAddr", "BackupController", "ControlAddr", "ControlMachine", "CredType",
	"DownNodes", "FrontendName", "GresTypes", "Include", "JobAcctGatherType", "MCSPlugin", "NodeName", "NodeSet",
	"PartitionName", "PlugStackConfig", "PluginDir", "RebootProgram",
	"ResumeFailProgram", "ResumeProgram", "ResumeRate", "ResumeTimeout",
	"SlurmctldLogFile", "SlurmctldPrimaryOffProg", "SlurmctldPrimaryOnProg", "SlurmdLogFile",
	"SlurmdParameters", "SuspendExcNodes", "SuspendExcParts", "SuspendExcStates", "SuspendProgram", "SuspendRate",
	"SuspendTime", "SuspendTimeout", "SwitchType", "TaskPlugin", "TaskPluginParam", "TopologyPlugin", "X11Parameters",
}

// OwnedKeys lists, sorted, the parameters that spec.config must not hold.
func OwnedKeys() []string {
	keys := slices.Clone(refused)
	for _, p := range owned(Cluster{}, "") {
		keys = append(keys, p.key)
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return keys
}

// ownedKeys holds OwnedKeys in lower case.
var ownedKeys = sync.OnceValue(func() map[string]bool {
	keys := map[string]bool{}
	for _, k := range OwnedKeys() {
		keys[strings.ToLower(k)] = true
	}
	return keys
})

// Validate checks a user's parameters: every key is one that slurm.conf knows and that the operator does
// not own, stands there once, and has a value of one line. The error is a sentence for the user.
func Validate(config map[string]string) error {
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		lower := strings.ToLower(key)
		switch {
		case ownedKeys()[lower]:
			return fmt.Errorf("spec.config.%s is set by the operator; remove it", key)
		case known[lower] == "":
			return fmt.Errorf("spec.config.%q is not a parameter of slurm.conf%s", key, suggestion(lower))
		case seen[lower] != "":
			return fmt.Errorf("spec.config has %s and %s, which are the same parameter; remove one", seen[lower], key)
		}
		seen[lower] = key
		if err := checkValue(key, config[key]); err != nil {
			return err
		}
	}
	return nil
}

// checkValue refuses what would end the line early or continue it: slurm.conf joins a line that ends in a
// backslash with the next, and takes the rest from '#' as a comment.
func checkValue(key, value string) error {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '#' }
	switch {
	case strings.TrimSpace(value) == "":
		return fmt.Errorf("the value of %s is empty; give it one or remove the key", key)
	case strings.ContainsFunc(value, bad), strings.HasSuffix(strings.TrimSpace(value), `\`):
		return fmt.Errorf("the value of %s must be one line without control characters and '#', and not end in a backslash", key)
	case strings.Count(value, `"`)%2 != 0:
		return fmt.Errorf("the value of %s has an opening quotation mark without a closing one", key)
	}
	return nil
}

var name = regexp.MustCompile(`^[A-Za-z][-A-Za-z0-9_]*$`)

func checkName(what, value string) error {
	if !name.MatchString(value) {
		return fmt.Errorf("%q is no name of a %s: it starts with a letter and has only letters, digits, '-' and '_'", value, what)
	}
	return nil
}

// suggestion names the known parameter that is at most two typing errors away, if there is one.
func suggestion(lower string) string {
	best, at := "", 3
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := levenshtein.ComputeDistance(lower, k); d < at {
			best, at = known[k], d
		}
	}
	if best == "" {
		return "; see the slurm.conf manual for their names"
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

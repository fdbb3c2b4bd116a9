package create

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	maxConfig      = 64
	maxConfigValue = 1024
)

var (
	configKey   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,63}$`)
	configValue = regexp.MustCompile(`^[^\x00-\x1f\x7f#]+$`)
)

// operatorKeys are the parameters that the operator sets. Slurm does not tell upper from lower case.
var operatorKeys = strings.Fields(`accountingstoragehost accountingstoragepass accountingstorageport
accountingstoragetype accountingstorageuser authaltparameters authalttypes authinfo authtype
clustername controlmachine controladdr backupcontroller backupaddr credtype downnodes frontendname grestypes include
jobacctgathertype maxnodecount nodename nodeset partitionname plugindir plugstackconfig proctracktype
resumeprogram returntoservice slurmctldhost slurmctldlogfile slurmctldpidfile slurmctldport slurmdlogfile
slurmdpidfile slurmdport slurmdspooldir slurmduser slurmuser srunportrange statesavelocation suspendprogram
treewidth switchtype mcsplugin slurmctldprimaryonprog slurmctldprimaryoffprog slurmdparameters taskplugin
taskpluginparam selecttype topologyplugin rebootprogram x11parameters
resumefailprogram resumerate resumetimeout suspendexcnodes suspendexcparts suspendexcstates suspendrate suspendtime
suspendtimeout`)

func (o *Options) checkConfig() error {
	if len(o.Config) > maxConfig {
		return fmt.Errorf("--config is given %d times; %d is the most", len(o.Config), maxConfig)
	}
	o.config = nil
	seen := map[string]bool{}
	for _, text := range o.Config {
		key, value, found := strings.Cut(text, "=")
		lower := strings.ToLower(key)
		switch {
		case !found || !configKey.MatchString(key):
			return fmt.Errorf("--config %q: write KEY=VALUE, with the name of a slurm.conf parameter, such as SchedulerParameters=bf_interval=5", text)
		case !configValue.MatchString(value) || len([]rune(value)) > maxConfigValue:
			return fmt.Errorf("--config %s: its value must be one line of 1 to %d characters, without '#' and control characters", key, maxConfigValue)
		case slices.Contains(operatorKeys, lower):
			return fmt.Errorf("--config %s: the operator sets this parameter itself; leave it out", key)
		case seen[lower]:
			return fmt.Errorf("--config %s is given twice; give it once", key)
		}
		seen[lower] = true
		if o.config == nil {
			o.config = map[string]v1alpha1.ConfigValue{}
		}
		o.config[key] = v1alpha1.ConfigValue(value)
	}
	return nil
}

package sbatch

import "strings"

// The options of sbatch, from its manual page and checked against the programs of Slurm 24.11.5 and
// 26.05.5. A value that is optional is always attached (--nice=5), so only required ones matter here.
const (
	shortWithValue = "abcdeimnopqtwxABCDFGJLMNS"

	longWithValue = `account acctg-freq array autocomplete batch bb bbf begin chdir cluster cluster-constraint
clusters comment constraint container container-id container-type context core-spec cores-per-socket cpu-freq
cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error exclude export export-file extra
extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint
input job-name kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu
mem-update mincpus network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node
ntasks-per-socket ntasks-per-tres open-mode output partition prefer priority profile qos reservation resources
segment signal sockets-per-node switches tasks-per-node thread-spec threads-per-core time time-min tmp
tres-bind tres-per-task uid wckey wrap`

	longWithoutValue = `consolidate-segments contiguous exclusive external get-user-env help hold ignore-pbs nice
no-kill no-requeue oom-kill-step overcommit oversubscribe parsable propagate quiet reboot requeue resv-ports
spread-job spread-segments stepmgr test-only usage use-min-nodes verbose version wait`
)

// longOptions says of each long option whether it needs a value.
var longOptions = func() map[string]bool {
	options := map[string]bool{}
	for name := range strings.FieldsSeq(longWithValue) {
		options[name] = true
	}
	for name := range strings.FieldsSeq(longWithoutValue) {
		options[name] = false
	}
	return options
}()

// longOption completes an abbreviation the way getopt does, and says whether the option needs a value. An
// unknown or ambiguous name is returned as it is: sbatch has the better words for that.
func longOption(name string) (string, bool) {
	if needsValue, exact := longOptions[name]; exact {
		return name, needsValue
	}
	found := ""
	for candidate := range longOptions {
		if strings.HasPrefix(candidate, name) {
			if found != "" {
				return name, false
			}
			found = candidate
		}
	}
	if found == "" {
		return name, false
	}
	return found, longOptions[found]
}

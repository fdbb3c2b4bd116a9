package agent

import (
	"fmt"
	"strings"
)

const (
	parametersKey    = "SlurmctldParameters"
	threadsParameter = "conmgr_threads="
)

// withThreads is slurm.conf with so many threads for slurmctld, unless it says itself how many. The operator cannot say it, because
// it depends on the CPUs here: Slurm 26.05 complains of more than twice as many.
func withThreads(conf string, threads int) string {
	var b strings.Builder
	for line := range strings.Lines(conf) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if key == parametersKey && !strings.Contains(strings.ToLower(value), threadsParameter) {
			line = fmt.Sprintf("%s=%s,%s%d\n", key, value, threadsParameter, threads)
		}
		b.WriteString(line)
	}
	return b.String()
}

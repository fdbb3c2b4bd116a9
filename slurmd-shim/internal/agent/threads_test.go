package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThreads(t *testing.T) {
	for conf, want := range map[string]string{
		"A=1\nSlurmctldParameters=enable_configless\nB=2\n":                 "A=1\nSlurmctldParameters=enable_configless,conmgr_threads=4\nB=2\n",
		"SlurmctldParameters=enable_configless":                             "SlurmctldParameters=enable_configless,conmgr_threads=4\n",
		"SlurmctldParameters=enable_configless,CONMGR_Threads=64,x\nB=2\n":  "SlurmctldParameters=enable_configless,CONMGR_Threads=64,x\nB=2\n",
		"# SlurmctldParameters=enable_configless\nSlurmdParameters=a=b\n\n": "# SlurmctldParameters=enable_configless\nSlurmdParameters=a=b\n\n",
	} {
		require.Equal(t, want, withThreads(conf, 4))
	}
}

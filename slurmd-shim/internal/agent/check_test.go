package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func containsLine(log, line string) bool {
	for l := range strings.Lines(log) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}

func TestExplain(t *testing.T) {
	conf := "ClusterName=demo\nSlurmUser=user\n# MaxNodeCount=1\nMaxNodeCount=abc\nPartitionName=x Nodes=ALL Bar=1\nPriorityType=priority/xx\nReturnToService=2\n"
	const fatal = "scontrol: fatal: Unable to process configuration file\n"
	for name, c := range map[string]struct{ output, want string }{
		"key and value": {
			"scontrol: error: MaxNodeCount value (abc) is not a valid number\n" + fatal,
			"slurm.conf line 4 (MaxNodeCount=abc): MaxNodeCount value (abc) is not a valid number. Correct or remove that line",
		},
		"the parser names the line": {
			"scontrol: error: Parsing error at unrecognized key: Bar\nscontrol: error: Parse error in file /run/slurm/served.1/slurm.conf line 5: \" Bar=1\"\n" + fatal,
			"slurm.conf line 5: Parsing error at unrecognized key: Bar; Parse error in file /run/slurm/served.1/slurm.conf line 5: \" Bar=1\". Correct or remove that line",
		},
		"only the value": {
			"slurmctld: error: cannot find priority plugin for priority/xx\nslurmctld: fatal: failed to initialize priority plugin\n",
			"slurm.conf line 6 (PriorityType=priority/xx): cannot find priority plugin for priority/xx; failed to initialize priority plugin. Correct or remove that line",
		},
		"nothing to find": {"scontrol: error: something 2 is off\n", "slurm.conf: something 2 is off. Correct it"},
		"only fatal":      {fatal, "slurm.conf: Unable to process configuration file. Correct it"},
		"silence":         {"", "slurm.conf: Slurm refuses it without saying why. Correct it"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, explain(c.output, conf)) })
	}
}

// FuzzExplain: whatever Slurm prints becomes one sentence of one line.
func FuzzExplain(f *testing.F) {
	f.Add("scontrol: error: a: b\n", "a=b\n")
	f.Add("in file /x/y line 3", "")
	f.Fuzz(func(t *testing.T, output, conf string) {
		if got := explain(output, conf); strings.Contains(got, "\n") || !strings.Contains(got, "Correct ") {
			t.Errorf("explanation %q", got)
		}
	})
}

func TestTail(t *testing.T) {
	var tl tail
	for _, s := range []string{"one\ntw", "o\n", "three"} {
		n, err := tl.Write([]byte(s))
		require.NoError(t, err)
		require.Len(t, s, n)
	}
	require.Equal(t, "one\ntwo\nthree", tl.String())
	require.Equal(t, "three", tl.complaints())
	for _, form := range []string{"slurmctld: %s: ", "[2026-11-21T00:05:46.418] %s: "} {
		log := strings.ReplaceAll("started\n%%first\n%%second\n", "%%", strings.Replace(form, "%s", "error", 1)) + strings.Replace(form, "%s", "fatal", 1) + "third\n"
		_, err := tl.Write([]byte(log))
		require.NoError(t, err)
		require.Equal(t, "slurm.conf: first; second; third. Correct it", explain(tl.complaints(), ""))
	}
	_, err := tl.Write([]byte(strings.Repeat("x", 3*tailBytes)))
	require.NoError(t, err)
	require.Len(t, tl.String(), tailBytes)
}

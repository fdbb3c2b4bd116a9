package pbs

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
)

func TestScript(t *testing.T) {
	for name, c := range map[string]struct {
		options []string
		text    string
		want    string
	}{
		"a script without options": {
			nil, "#!/bin/bash\n#PBS -l nodes=2\n\n# about\necho hi\n#PBS -N late\n",
			"#!/bin/bash\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\n#PBS -e \"%x.e%j\"\n#PBS -l nodes=2\n\n# about\necho hi\n#PBS -N late\n",
		},
		"the command line comes last": {
			[]string{"-N", "mine", "-l", "nodes=1:ppn=2", "-l", "walltime=1:00"}, "#!/bin/bash\n#PBS -N its\necho hi",
			"#!/bin/bash\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\n#PBS -e \"%x.e%j\"\n#PBS -N its\n" +
				"#PBS -l \"nodes=1:ppn=2\"\n#PBS -l \"walltime=1:00\"\n#PBS -N \"mine\"\necho hi",
		},
		"no interpreter": {
			[]string{"-S", "/bin/bash"}, "hostname",
			"#!/bin/bash\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\n#PBS -e \"%x.e%j\"\nhostname",
		},
		"one file, by the script":         {nil, "#!/bin/sh\n#PBS -j oe\ntrue\n", "#!/bin/sh\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\n#PBS -j oe\ntrue\n"},
		"one file, by the command line":   {[]string{"-joe"}, "#!/bin/sh\ntrue\n", "#!/bin/sh\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\ntrue\n"},
		"a header without an end of line": {[]string{"-q", "long"}, "#!/bin/sh\n#PBS -j oe", "#!/bin/sh\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\n#PBS -j oe\n#PBS -q \"long\"\n"},
		"nothing at all":                  {nil, "", "#!/bin/sh\n#PBS -N \"run.sh\"\n#PBS -o \"%x.o%j\"\n#PBS -e \"%x.e%j\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := submission{name: "run.sh"}
			require.NoError(t, s.read(flags(t, c.options...)))
			assert.Equal(t, c.want, s.script(c.text))
		})
	}
}

func flags(t *testing.T, options ...string) *pflag.FlagSet {
	t.Helper()
	c := Command("qsub")
	require.NoError(t, c.ParseFlags(options))
	return c.Flags()
}

func TestOptions(t *testing.T) {
	s := submission{export: []string{"A=1,B"}}
	require.NoError(t, s.read(flags(t, "-W", "block=true", "-W", "depend=afterok:3")))
	s.script("#!/bin/sh\n#PBS -v A=0,C\n")
	assert.Equal(t, []string{"--parsable", "--wait", "--export=ALL,PBS_ENVIRONMENT=PBS_BATCH,A=0,C,A=1,B"}, s.options())
	assert.Equal(t, []string{`#PBS -W "depend=afterok:3"`}, s.header)
	assert.ErrorContains(t, (&submission{}).read(flags(t, "-N", "a\nb")), "cannot hold quotes or line breaks")
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		command, says string
		args          []string
	}{
		{"qsub", "interactive jobs are srun --pty bash", []string{"-I"}},
		{"qsub", "no such file", []string{"/no/such/script"}},
		{"qsub", "unknown shorthand flag: 'Q'", []string{"-Q"}},
		{"qdel", `"x" is not a job`, []string{"x"}},
		{"qdel", "at least 1 arg", nil},
		{"qstat", `"-1" is not a job`, []string{"--", "-1"}},
	} {
		command := Command(c.command)
		command.SetArgs(c.args)
		err := command.ExecuteContext(t.Context())
		require.ErrorContains(t, err, c.says)
		assert.NotZero(t, exit.Code(err))
	}
	assert.Nil(t, Command("qfoo"))
}

func TestJobID(t *testing.T) {
	for text, want := range map[string]string{"12": "12", "12.server.org": "12", "12[].server": "12", "12[3]": "12_3", "12[3].s": "12_3"} {
		got, err := jobID(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestJobs(t *testing.T) {
	line := func(state, reason string) string {
		return strings.Join([]string{"7_[1-3]", "a | b", "user", "1-02:03:04", state, "main", reason, "cpu-[0-1]", "2:00:00", "2", "2", "/home/user"}, separator)
	}
	for state, want := range map[string]string{"PENDING": "Q", "RUNNING": "R", "COMPLETING": "E", "COMPLETED": "C", "FAILED": "C", "SUSPENDED": "S"} {
		j, err := parseJob(line(state, "None"))
		require.NoError(t, err)
		assert.Equal(t, want, j.letter(), state)
	}
	held, err := parseJob(line("PENDING", "JobHeldUser"))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, printTable(&out, []job{held}, true))
	assert.Equal(t, `Job id              Name             User             Time Use   S Queue Nodes
------------------- ---------------- ---------------- --------   - ----- -----
7_[1-3]             a | b            user             1-02:03:04 H main  cpu-[0-1]
`, out.String())
	out.Reset()
	require.NoError(t, printFull(&out, []job{held}))
	assert.Contains(t, out.String(), "Job Id: 7_[1-3]\n    Job_Name = a | b\n")
	_, err = parseJob("slurm_load_jobs error")
	require.ErrorContains(t, err, "not what was asked for")
}

func TestNodes(t *testing.T) {
	line := func(name, state string) string {
		return strings.Join([]string{name, state, "2", "480", "cpu", "none"}, separator) + "\n"
	}
	nodes, err := parseNodes(line("cpu-0", "idle") + line("cpu-0", "idle") + line("cpu-1", "drained*") + line("cpu-2", "allocated"))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, printNodes(&out, nodes, false))
	assert.Equal(t, 3, strings.Count(out.String(), "np = 2"))
	assert.Contains(t, out.String(), "cpu-0\n    state = free\n")
	assert.Contains(t, out.String(), "cpu-2\n    state = job-exclusive\n")
	out.Reset()
	require.NoError(t, printNodes(&out, nodes, true))
	assert.Equal(t, "cpu-1                down\n", out.String())
	for state, want := range map[string]string{"draining": "offline", "mixed+": "free", "powered_down": "state-unknown", "down": "down"} {
		assert.Equal(t, want, node{state: state}.pbsState(), state)
	}
	_, err = parseNodes("x\n")
	require.Error(t, err)
}

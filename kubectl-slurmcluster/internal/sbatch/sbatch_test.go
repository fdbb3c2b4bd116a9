package sbatch

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

// upload runs in the pod's shell; here it runs in this machine's.
func TestUploadScript(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "private")
	file := filepath.Join(directory, "hello there.sh")
	c := exec.CommandContext(t.Context(), "sh", "-c", upload, directory, file,
		"sh", "-c", `stat -c %a "$(dirname "$1")"; cat "$1"; echo "$2"; exit 4`, "sbatch", file, "a b")
	c.Stdin = strings.NewReader("#!/bin/sh\r\n")
	out, err := c.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 4, exit.ExitCode(), "sbatch's exit code")
	assert.Equal(t, "700\n#!/bin/sh\r\na b\n", string(out))
	assert.NoDirExists(t, directory)
}

func TestCommand(t *testing.T) {
	script := filepath.Join(t.TempDir(), "hello.sh")
	require.NoError(t, os.WriteFile(script, []byte("from the file"), 0o600))
	tests := map[string]struct {
		args  []string
		input string
		sent  string // the last arguments of the remote command
	}{
		"script":         {[]string{"demo", "-N", "2", script, "x"}, "from the file", "sbatch -N 2 DIR/hello.sh x"},
		"standard input": {[]string{"demo", "-n", "2"}, "from standard input", "sbatch -n 2"},
		"wrap":           {[]string{"demo", "--wrap", "hostname"}, "", "sbatch --wrap hostname"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var input, sent string
			w := clitest.New(t, clitest.Runner(func(_ context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
				assert.Equal(t, "demo-controller-0", target.Pod)
				sent = strings.Join(command, " ")
				if streams.In == nil {
					return nil
				}
				data, err := io.ReadAll(streams.In)
				input = string(data)
				return err
			}), nil)
			w.In.WriteString("from standard input")
			cmd := Command(w.Env)
			cmd.SetArgs(test.args)
			require.NoError(t, cmd.Execute())
			assert.Equal(t, test.input, input)
			assert.Regexp(t, strings.ReplaceAll(test.sent, "DIR", "/tmp/sbatch-[a-z0-9]+")+"$", sent)
		})
	}
}

func TestNoSuchScript(t *testing.T) {
	w := clitest.New(t, nil, nil)
	cmd := Command(w.Env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"demo", "--new-option", "value", "hello.sh"})
	err := cmd.Execute()
	require.True(t, errors.Is(err, os.ErrNotExist))
	assert.ErrorContains(t, err, `if "value" is the value of an option, write --option=value`)
}

func TestForPrograms(t *testing.T) {
	for format, want := range map[string]string{
		"name": "17\n", "yaml": "cluster: demo\nid: \"17\"\nnamespace: team-a\n",
		"json": "{\n    \"id\": \"17\",\n    \"cluster\": \"demo\",\n    \"namespace\": \"team-a\"\n}\n",
	} {
		answers := &clitest.Answers{Text: map[string]string{"sbatch --parsable -N 2 --wrap hostname": "17;demo\n"}}
		w := clitest.New(t, answers, nil)
		require.NoError(t, clitest.Run(t, Command(w.Env), "-o", format, "demo", "-N", "2", "--wrap", "hostname"))
		assert.Equal(t, want, w.Out.String())
	}
	answers := &clitest.Answers{Text: map[string]string{"sbatch --parsable --help": "Usage: sbatch\n"}}
	w := clitest.New(t, answers, nil)
	require.EqualError(t, clitest.Run(t, Command(w.Env), "-o", "name", "demo", "--help"), "sbatch told no id of a job but: Usage: sbatch")
	assert.ErrorContains(t, clitest.Run(t, Command(w.Env), "-o", "out.txt", "demo"), "it is not known; use json, yaml or name")
}

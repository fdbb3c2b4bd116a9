package sbatch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		script, scriptArgs string
		noScript           bool
	}{
		"hello.sh":                              {script: "hello.sh"},
		"hello.sh -n ns":                        {script: "hello.sh", scriptArgs: "-n ns"},
		"-N 2 --time=5 hello.sh arg1":           {script: "hello.sh", scriptArgs: "arg1"},
		"-N2 --time 5 hello.sh":                 {script: "hello.sh"},
		"-HN 2 hello.sh":                        {script: "hello.sh"},
		"-HN2 hello.sh":                         {script: "hello.sh"},
		"--hold hello.sh":                       {script: "hello.sh"},
		"--part main hello.sh":                  {script: "hello.sh"},
		"--exclusive hello.sh":                  {script: "hello.sh"},
		"--nice hello.sh":                       {script: "hello.sh"},
		"-k hello.sh":                           {script: "hello.sh"},
		"-W -v hello.sh -v":                     {script: "hello.sh", scriptArgs: "-v"},
		"-J -x hello.sh":                        {script: "hello.sh"},
		"-- -odd.sh -N":                         {script: "-odd.sh", scriptArgs: "-N"},
		"-N 2 -- hello.sh":                      {script: "hello.sh"},
		"-N 1 : -N 2 hello.sh x":                {script: "hello.sh", scriptArgs: "x"},
		"--no-such-option hello.sh":             {script: "hello.sh"},
		"--n hello.sh":                          {script: "hello.sh"},
		"--wrap hostname":                       {noScript: true},
		"--wrap=hostname -N 2":                  {noScript: true},
		"--wra hostname":                        {noScript: true},
		"--help":                                {noScript: true},
		"-V":                                    {noScript: true},
		"-HV":                                   {noScript: true},
		"-Nh hello.sh":                          {script: "hello.sh"},
		"":                                      {},
		"-N":                                    {},
		"-N 2":                                  {},
		"--array 1-3%2 -o %A_%a.out job.sbatch": {script: "job.sbatch"},
	}
	for args, want := range tests {
		t.Run(args, func(t *testing.T) {
			line := parse(strings.Fields(args))
			assert.Equal(t, want.script, line.script)
			assert.Equal(t, want.scriptArgs, strings.Join(line.scriptArgs, " "))
			assert.Equal(t, want.noScript, line.noScript)
		})
	}
}

func TestUploadCommand(t *testing.T) {
	line := parse([]string{"-N", "2", "dir/hello.sh", "a b"})
	assert.Equal(t, []string{
		"sh", "-c", upload, "/tmp/d", "/tmp/d/hello.sh", "sbatch", "-N", "2", "/tmp/d/hello.sh", "a b",
	}, uploadCommand("/tmp/d", line))
}

// Nothing that the user wrote may be lost or change its order on the way.
func FuzzParse(f *testing.F) {
	f.Add("-N\x002\x00hello.sh\x00x")
	f.Add("--wrap\x00a\x00--")
	f.Add(":\x00-\x00--=\x00-N")
	f.Fuzz(func(t *testing.T, joined string) {
		args := strings.Split(joined, "\x00")
		line := parse(args)
		again := append([]string{}, line.options...)
		if line.script != "" || len(line.scriptArgs) > 0 || len(again) < len(args) {
			again = append(append(again, line.script), line.scriptArgs...)
		}
		assert.Equal(t, args, again)
	})
}

func TestTableHasNoContradiction(t *testing.T) {
	for name := range strings.FieldsSeq(longWithoutValue) {
		assert.NotContains(t, strings.Fields(longWithValue), name)
	}
}

package podexec

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientexec "k8s.io/client-go/util/exec"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// local runs commands on this machine, in a process group of their own as a container runtime does.
type local struct{ home string }

func (l local) Run(ctx context.Context, _ Target, command []string, streams Streams) error {
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], contract.HomeDir, l.home)
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = streams.In, streams.Out, streams.Err
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return clientexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

func session(t *testing.T, command ...string) (string, string, error) {
	var out, errOut bytes.Buffer
	err := Session(t.Context(), local{t.TempDir()}, Target{}, command,
		genericiooptions.IOStreams{In: strings.NewReader("input"), Out: &out, ErrOut: &errOut})
	return out.String(), errOut.String(), err
}

func TestSession(t *testing.T) {
	out, errOut, err := session(t, "sh", "-c", `cat; echo "a b" >&2; exit 3`)
	code, ran := ExitCode(err)
	assert.True(t, ran)
	assert.Equal(t, 3, code)
	assert.Equal(t, "input", out)
	assert.Equal(t, "a b\n", errOut, "the process id is not shown")
}

func TestSessionWithoutHome(t *testing.T) {
	var out, errOut bytes.Buffer
	err := Session(t.Context(), local{"/does/not/exist"}, Target{}, []string{"true"}, genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	require.Error(t, err)
	assert.Contains(t, errOut.String(), "/does/not/exist", "what the shell says is shown")
}

func TestSessionForwardsSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			ready := &notify{text: "ready", seen: make(chan struct{})}
			var errOut bytes.Buffer
			done := make(chan error, 1)
			script := `trap 'echo got it; exit 7' INT TERM HUP; echo ready; while :; do sleep 0.05; done`
			go func() {
				done <- Session(t.Context(), local{t.TempDir()}, Target{}, []string{"sh", "-c", script},
					genericiooptions.IOStreams{Out: ready, ErrOut: &errOut})
			}()
			<-ready.seen
			require.NoError(t, syscall.Kill(syscall.Getpid(), s))
			select {
			case err := <-done:
				code, _ := ExitCode(err)
				assert.Equal(t, 7, code)
			case <-time.After(10 * time.Second):
				t.Fatal("the signal did not arrive")
			}
		})
	}
}

// notify closes seen when text was written.
type notify struct {
	text string
	seen chan struct{}
	all  bytes.Buffer
}

func (n *notify) Write(p []byte) (int, error) {
	before := strings.Contains(n.all.String(), n.text)
	n.all.Write(p)
	if !before && strings.Contains(n.all.String(), n.text) {
		close(n.seen)
	}
	return len(p), nil
}

func TestFirstLineInPieces(t *testing.T) {
	var rest bytes.Buffer
	f := &firstLine{rest: &rest, line: make(chan string, 1)}
	for _, piece := range []string{"12", "34", "\nfirst\n", "second"} {
		n, err := f.Write([]byte(piece))
		require.NoError(t, err)
		assert.Len(t, piece, n)
	}
	assert.Equal(t, "1234", <-f.line)
	assert.Equal(t, "first\nsecond", rest.String())
}

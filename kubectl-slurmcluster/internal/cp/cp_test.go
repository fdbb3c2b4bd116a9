package cp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientexec "k8s.io/client-go/util/exec"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/clitest"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/podexec"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}

// machine runs commands here, with a directory of its own for each pod as its home.
type machine struct{ homes string }

func (m machine) home(pod string) string { return filepath.Join(m.homes, pod) }

func (m machine) Run(ctx context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
	command = append([]string{}, command...)
	for i := range command {
		if command[i] == contract.HomeDir {
			command[i] = m.home(target.Pod)
		}
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdout, c.Stderr = streams.Out, streams.Err
	if streams.In != nil {
		in, err := c.StdinPipe()
		if err != nil {
			return err
		}
		go func() { // nobody waits for it, as in a real session
			_, _ = io.Copy(in, streams.In)
			_ = in.Close()
		}()
	}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return clientexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// world has a controller pod and node cpu-0, and this machine's files in a directory that is the current one.
func world(t *testing.T) (*clitest.World, machine) {
	m := machine{t.TempDir()}
	require.NoError(t, os.Mkdir(m.home("demo-controller-0"), 0o755))
	require.NoError(t, os.Mkdir(m.home("demo-cpu-0"), 0o755))
	t.Chdir(t.TempDir())
	node := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-cpu-0", Namespace: clitest.Namespace, Labels: map[string]string{
			contract.LabelCluster: "demo", contract.LabelNode: "cpu-0", contract.LabelRole: contract.RoleSlurmd,
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	return clitest.New(t, m, []runtime.Object{clitest.Cluster()}, node), m
}

// tree writes files: "name mode content", names that end in "/" being directories, and "name -> target" links.
func tree(t *testing.T, root string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		fields := strings.SplitN(line, " ", 3)
		file := filepath.Join(root, fields[0])
		switch {
		case fields[1] == "->":
			require.NoError(t, os.Symlink(fields[2], file))
		case strings.HasSuffix(fields[0], "/"):
			require.NoError(t, os.MkdirAll(file, 0o755))
			require.NoError(t, os.Chmod(file, mode(fields[1])))
			t.Cleanup(func() { _ = os.Chmod(file, 0o755) }) // so that it can be removed
		default:
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(fields[2]), 0o600))
			require.NoError(t, os.Chmod(file, mode(fields[1])))
		}
	}
}

func mode(text string) fs.FileMode {
	var m fs.FileMode
	for _, digit := range text {
		m = m<<3 | fs.FileMode(digit-'0')
	}
	return m
}

// look is the inverse of tree: everything below root.
func look(t *testing.T, root string) []string {
	t.Helper()
	lines := []string{}
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		name, err := filepath.Rel(root, file)
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		perm := strings.TrimPrefix(strings.ReplaceAll(octal(info.Mode().Perm()), " ", ""), "0o")
		switch {
		case entry.IsDir():
			lines = append(lines, name+"/ "+perm)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			require.NoError(t, err)
			lines = append(lines, name+" -> "+target)
		default:
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			lines = append(lines, name+" "+perm+" "+string(content))
		}
		return nil
	}))
	sort.Strings(lines)
	return lines
}

func octal(m fs.FileMode) string {
	const digits = "01234567"
	return string([]byte{digits[m>>6&7], digits[m>>3&7], digits[m&7]})
}

func TestCopy(t *testing.T) {
	data := []string{"data/a 644 first", "data/run.sh 755 script", "data/sub/b 600 second", "data/empty/ 700", "data/sub/up -> ../a"}
	copied := func(name string) []string {
		lines := []string{name + "/ 755", name + "/a 644 first", name + "/empty/ 700", name + "/run.sh 755 script", name + "/sub/ 755", name + "/sub/b 600 second", name + "/sub/up -> ../a"}
		return lines
	}
	tests := map[string]struct {
		there, here []string // files before
		args        string
		wantThere   []string
		wantHere    []string // nil: unchanged
		node        string
	}{
		"in, a file":                     {here: []string{"a.txt 640 text"}, args: "a.txt demo:", wantThere: []string{"a.txt 640 text"}},
		"in, a file, another name":       {here: []string{"a.txt 400 text"}, args: "a.txt demo:b.txt", wantThere: []string{"b.txt 400 text"}},
		"in, a file over another":        {here: []string{"a.txt 600 new"}, there: []string{"b.txt 644 old"}, args: "a.txt demo:b.txt", wantThere: []string{"b.txt 600 new"}},
		"in, a file into a directory":    {here: []string{"a.txt 600 new"}, there: []string{"d/ 755"}, args: "./a.txt demo:d/", wantThere: []string{"d/ 755", "d/a.txt 600 new"}},
		"in, a linked file":              {here: []string{"a.txt 600 new", "l -> a.txt"}, args: "l demo:", wantThere: []string{"l 600 new"}},
		"in, strange names":              {here: []string{"-a$b'c 600 new"}, args: "./-a$b'c demo:-x\"y", wantThere: []string{"-x\"y 600 new"}},
		"in, a colon":                    {here: []string{"a:b 600 new"}, args: "./a:b demo:", wantThere: []string{"a:b 600 new"}},
		"in, home by name":               {here: []string{"a 600 new"}, args: "a demo:~/b", wantThere: []string{"b 600 new"}},
		"in, a directory":                {here: data, args: "data demo:data", wantThere: copied("data")},
		"in, a directory, another name":  {here: data, args: "./data/ demo:other", wantThere: copied("other")},
		"in, a directory into another":   {here: []string{"new/a 644 new"}, there: []string{"data/ 755"}, args: "new demo:data", wantThere: []string{"data/ 755", "data/new/ 755", "data/new/a 644 new"}},
		"in, a directory over itself":    {here: data, there: []string{"data/ 700", "data/a 600 old", "data/old 644 old", "data/sub/b 644 old"}, args: "data demo:", wantThere: append([]string{"data/ 700", "data/old 644 old"}, copied("data")[1:]...)},
		"in, what is in a directory":     {here: data, there: []string{"x/ 755"}, args: "data/. demo:x", wantThere: copied("x")},
		"in, a read-only directory":      {here: []string{"data/a 444 x", "data/ 555"}, args: "data demo:", wantThere: []string{"data/ 755", "data/a 444 x"}},
		"in, to a node":                  {here: []string{"a.txt 640 text"}, args: "a.txt demo: --node cpu-0", wantThere: []string{"a.txt 640 text"}, node: "demo-cpu-0"},
		"out, a file":                    {there: []string{"a.txt 640 text"}, args: "demo:a.txt .", wantHere: []string{"a.txt 640 text"}},
		"out, a file, another name":      {there: []string{"a.txt 400 text"}, args: "demo:a.txt b.txt", wantHere: []string{"b.txt 400 text"}},
		"out, a file over another":       {there: []string{"a.txt 600 new"}, here: []string{"b.txt 644 old"}, args: "demo:a.txt b.txt", wantHere: []string{"b.txt 600 new"}},
		"out, a file over a linked one":  {there: []string{"a 600 new"}, here: []string{"b 644 old", "l -> b"}, args: "demo:a l", wantHere: []string{"b 600 new", "l -> b"}},
		"out, a linked file":             {there: []string{"a 600 new", "l -> a"}, args: "demo:l .", wantHere: []string{"l 600 new"}},
		"out, a directory":               {there: data, args: "demo:data .", wantHere: copied("data")},
		"out, a directory, another name": {there: data, args: "demo:data/ other", wantHere: copied("other")},
		"out, into a linked directory":   {there: []string{"a 600 new"}, here: []string{"d/ 755", "l -> d"}, args: "demo:a l", wantHere: []string{"d/ 755", "d/a 600 new", "l -> d"}},
		"out, a directory over itself":   {there: data, here: []string{"data/ 700", "data/a 600 old", "data/old 644 old", "data/sub/b 644 old"}, args: "demo:data .", wantHere: append([]string{"data/ 700", "data/old 644 old"}, copied("data")[1:]...)},
		"out, what is in a directory":    {there: data, here: []string{"x/ 755"}, args: "demo:data/. x", wantHere: copied("x")},
		"out, a read-only directory":     {there: []string{"data/a 444 x", "data/ 555"}, args: "demo:data .", wantHere: []string{"data/ 755", "data/a 444 x"}},
		"out, strange names":             {there: []string{"d/-a$b'c 600 new"}, args: "demo:d -e", wantHere: []string{"-e/ 755", "-e/-a$b'c 600 new"}},
		"out, home":                      {there: []string{"a 600 x"}, args: "demo: h", wantHere: []string{"h/ 755", "h/a 600 x"}},
		"out, from a node":               {there: []string{"a.txt 640 text"}, args: "demo:a.txt . --node cpu-0", wantHere: []string{"a.txt 640 text"}, node: "demo-cpu-0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, m := world(t)
			if test.node == "" {
				test.node = "demo-controller-0"
			}
			tree(t, ".", test.here...)
			tree(t, m.home(test.node), test.there...)
			hereBefore, thereBefore := look(t, "."), look(t, m.home(test.node))
			require.NoError(t, clitest.Run(t, Command(w.Env), arguments(test.args)...))
			if test.wantHere == nil {
				test.wantHere = hereBefore
			}
			if test.wantThere == nil {
				test.wantThere = thereBefore
			}
			sort.Strings(test.wantHere)
			sort.Strings(test.wantThere)
			assert.Equal(t, test.wantHere, look(t, "."))
			assert.Equal(t, test.wantThere, look(t, m.home(test.node)))
			assert.Empty(t, w.ErrOut.String())
		})
	}
}

// arguments splits a line; a name that looks like a flag goes behind "--".
func arguments(line string) []string {
	args := strings.Fields(line)
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
			return append([]string{"--"}, args...)
		}
	}
	return args
}

// What is refused leaves everything as it was, on both sides.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		there, here []string
		args, want  string
	}{
		"one argument":         {args: "a", want: "give a source and a destination"},
		"both here":            {args: "a b", want: "neither a nor b is in a cluster; write NAME:PATH, such as demo:data"},
		"both there":           {args: "demo:a other:b", want: "both demo:a and other:b are in clusters"},
		"nothing here":         {args: "missing demo:", want: "copying missing to demo:.: there is no such file or directory on this machine"},
		"nothing there":        {args: "demo:missing .", want: "copying demo:missing to .: demo-controller-0 has no such file or directory; if it is on a node's own disk, name the node with --node"},
		"nothing on the node":  {args: "demo:missing . --node cpu-0", want: "demo-cpu-0 has no such file or directory"},
		"no node":              {args: "demo:a . --node cpu-9", want: "node cpu-9 has no running pod"},
		"no directory there":   {here: []string{"a 600 x"}, args: "a demo:no/such/a", want: "demo-controller-0 has no directory /home/user/no/such; make it first"},
		"no directory here":    {there: []string{"a 600 x"}, args: "demo:a no/such/a", want: "there is no directory no/such on this machine"},
		"directory in the way": {here: []string{"a 600 x"}, there: []string{"d/a/ 755"}, args: "a demo:d", want: "has a directory of that name already"},
		"file in the way":      {here: []string{"d/a 600 x"}, there: []string{"f 600 x"}, args: "d demo:f", want: "has a file of that name already"},
		"file in the way here": {here: []string{"f 600 x"}, there: []string{"d/a 600 x"}, args: "demo:d f", want: "is a file already"},
		"directory here":       {here: []string{"d/f/ 755"}, there: []string{"f 600 x"}, args: "demo:f d", want: "is a directory already"},
		"unknown cluster":      {here: []string{"a 600 x"}, args: "a other:", want: `there is no SlurmCluster "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := world(t)
			tree(t, ".", test.here...)
			tree(t, m.home("demo-controller-0"), test.there...)
			hereBefore, thereBefore := look(t, "."), look(t, m.homes)
			if strings.Contains(test.args, "other:") { // its pods are not on this machine
				w = clitest.New(t, clitest.Runner(func(context.Context, podexec.Target, []string, podexec.Streams) error {
					return errors.New("not found")
				}), nil)
			}
			assert.ErrorContains(t, clitest.Run(t, Command(w.Env), strings.Fields(test.args)...), test.want)
			assert.Equal(t, hereBefore, look(t, "."))
			assert.Equal(t, thereBefore, look(t, m.homes))
		})
	}
}

// broken is a machine whose connection breaks off after some bytes, in the direction that counts.
type broken struct {
	machine
	after int64
	err   error
}

func (b broken) Run(ctx context.Context, target podexec.Target, command []string, streams podexec.Streams) error {
	if streams.In != nil {
		streams.In = io.LimitReader(streams.In, b.after)
	} else {
		streams.Out = &limited{streams.Out, b.after}
	}
	return errors.Join(b.machine.Run(ctx, target, command, streams), b.err)
}

type limited struct {
	io.Writer
	left int64
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(int64(len(p)), l.left)
	l.left -= n
	_, err := l.Writer.Write(p[:n])
	return len(p), err
}

// A connection may break anywhere, between two files too, where tar would see nothing wrong.
func TestBrokenOff(t *testing.T) {
	for _, after := range []int64{0, 100, 512, 1024, 1536, 2048, 2560} {
		for _, args := range []string{"d demo:", "demo:d ."} {
			w, m := world(t)
			b := broken{m, after, nil}
			if strings.HasPrefix(args, "demo:") {
				b.err = errors.New("connection reset by peer")
				tree(t, m.home("demo-controller-0"), "d/a 600 x", "d/b 600 y")
			} else {
				tree(t, ".", "d/a 600 x", "d/b 600 y")
			}
			w.Exec = func() (podexec.Runner, error) { return b, nil }
			hereBefore, thereBefore := look(t, "."), look(t, m.homes)
			require.Error(t, clitest.Run(t, Command(w.Env), strings.Fields(args)...), "%s after %d bytes", args, after)
			assert.Equal(t, hereBefore, look(t, "."), "%s after %d bytes", args, after)
			assert.Equal(t, thereBefore, look(t, m.homes), "%s after %d bytes", args, after)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, args := range []string{"d demo:", "demo:d ."} {
		w, m := world(t)
		ctx, cancel := context.WithCancel(t.Context())
		tree(t, ".", "d/a 600 x")
		tree(t, m.home("demo-controller-0"), "d/b 600 x")
		hereBefore, thereBefore := look(t, "."), look(t, m.homes)
		w.Exec = func() (podexec.Runner, error) {
			return clitest.Runner(func(ctx context.Context, _ podexec.Target, _ []string, _ podexec.Streams) error {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			}), nil
		}
		cmd := Command(w.Env)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(args))
		require.ErrorIs(t, cmd.ExecuteContext(ctx), context.Canceled)
		assert.Equal(t, hereBefore, look(t, "."))
		assert.Equal(t, thereBefore, look(t, m.homes))
	}
}

func TestCompletion(t *testing.T) {
	w, _ := world(t)
	complete := completePlace(w.Env)
	cmd := Command(w.Env)
	cmd.SetContext(t.Context())
	found, _ := complete(cmd, nil, "")
	assert.Equal(t, []string{"demo:"}, found)
	found, _ = complete(cmd, []string{"./data"}, "de")
	assert.Equal(t, []string{"demo:"}, found)
	found, _ = complete(cmd, nil, "./da")
	assert.Empty(t, found)
}

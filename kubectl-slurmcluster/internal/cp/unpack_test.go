package cp

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func archive(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range headers {
		h := &headers[i]
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "content"
		}
		h.Size = int64(len(content))
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return &b
}

func directory(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }
func regular(name string) tar.Header   { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

// The archive comes from a machine on which others run programs.
func TestHostileArchives(t *testing.T) {
	const outside = "the archive has a member that does not belong there"
	const behind = "the archive has a member behind a link"
	for name, test := range map[string]struct {
		members []tar.Header
		err     string
		warning string
		want    []string
	}{
		"above":               {members: []tar.Header{directory("./"), regular("../evil")}, err: outside},
		"above, later":        {members: []tar.Header{directory("./"), directory("./a"), regular("./a/../../evil")}, err: outside},
		"absolute":            {members: []tar.Header{directory("./"), regular("/tmp/evil")}, err: outside},
		"two files":           {members: []tar.Header{regular("a"), regular("b")}, err: outside},
		"twice":               {members: []tar.Header{directory("./"), regular("a"), regular("a")}, err: "file exists"},
		"the first is a link": {members: []tar.Header{link("a", "/etc/passwd")}, err: "it is no file or directory"},
		"the first is a pipe": {members: []tar.Header{{Typeflag: tar.TypeFifo, Name: "a"}}, err: "it is no file or directory"},
		"nothing":             {err: "the archive is empty"},
		"link out":            {members: []tar.Header{directory("./"), link("l", "/etc/passwd")}, warning: "link l is left out: it leads to /etc/passwd", want: []string{"it/ 755"}},
		"link above":          {members: []tar.Header{directory("./"), link("l", "..")}, warning: "link l is left out", want: []string{"it/ 755"}},
		"link above, hidden":  {members: []tar.Header{directory("./"), directory("a"), link("l", "a/../..")}, warning: "left out", want: []string{"it/ 755", "it/a/ 755"}},
		"link above, by links": {members: []tar.Header{directory("./"), directory("a"), directory("a/b"), link("a/b/up", "../.."), link("l", "a/b/up/..")},
			warning: "link l is left out", want: []string{"it/ 755", "it/a/ 755", "it/a/b/ 755", "it/a/b/up -> ../.."}},
		"through a link":        {members: []tar.Header{directory("./"), directory("a"), link("l", "a"), regular("l/evil")}, err: behind},
		"over a link":           {members: []tar.Header{directory("./"), regular("a"), link("l", "a"), regular("l")}, err: behind},
		"through a refused one": {members: []tar.Header{directory("./"), link("l", "/etc"), regular("l/evil")}, err: "no such file"},
		"good links": {members: []tar.Header{directory("./"), directory("a"), regular("a/f"), link("a/l", "../a/f"), link("m", "a"), link("self", ".")},
			want: []string{"it/ 755", "it/a/ 755", "it/a/f 755 content", "it/a/l -> ../a/f", "it/m -> a", "it/self -> ."}},
		"odd members": {members: []tar.Header{directory("./"), {Typeflag: tar.TypeFifo, Name: "p"}, {Typeflag: tar.TypeBlock, Name: "sda"}, {Typeflag: tar.TypeLink, Name: "h", Linkname: "/etc/passwd"}},
			warning: "it is no file, directory or link", want: []string{"it/ 755"}},
		"setuid": {members: []tar.Header{{Typeflag: tar.TypeReg, Name: "a", Mode: 0o6755}}, want: []string{"it 755 content"}},
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			inside := filepath.Join(around, "inside")
			require.NoError(t, os.Mkdir(inside, 0o755))
			root, err := os.OpenRoot(inside)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, root.Close()) })
			var warnings []string
			_, err = unpack(archive(t, test.members...), root, func(s string) { warnings = append(warnings, s) })
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
			} else {
				require.NoError(t, err)
				assert.Equal(t, test.want, look(t, inside))
			}
			assert.Contains(t, strings.Join(warnings, "\n"), test.warning)
			entries, err := os.ReadDir(around)
			require.NoError(t, err)
			assert.Len(t, entries, 1, "nothing was made outside")
		})
	}
}

// A link of this machine, into which a directory from the cluster would be merged, must not lead files elsewhere.
func TestMergeStaysInside(t *testing.T) {
	w, m := world(t)
	elsewhere := t.TempDir()
	tree(t, m.home("demo-controller-0"), "d/sub/evil 600 x")
	tree(t, ".", "d/ 755", "d/sub -> "+elsewhere)
	cmd := Command(w.Env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"demo:d", "."})
	require.ErrorContains(t, cmd.ExecuteContext(t.Context()), "path escapes from parent")
	assert.Empty(t, look(t, elsewhere))
}

func TestLinksOutAreNamed(t *testing.T) {
	w, m := world(t)
	tree(t, m.home("demo-controller-0"), "d/a 600 x", "d/l -> /etc/passwd")
	cmd := Command(w.Env)
	cmd.SetArgs([]string{"demo:d", "."})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	assert.Equal(t, []string{"d/ 755", "d/a 600 x"}, look(t, "."))
	assert.Equal(t, "warning: link ./l is left out: it leads to /etc/passwd, out of what is copied\n", w.ErrOut.String())
}

func TestMeter(t *testing.T) {
	m := newMeter(&bytes.Buffer{}, "demo:data", 300<<20)
	n, err := fmt.Fprint(m, strings.Repeat("x", 3<<20))
	require.NoError(t, err)
	assert.Equal(t, 3<<20, n)
	assert.Equal(t, "demo:data: 3 MiB of 300, 1.5 MiB/s", m.text(2*time.Second))
	m.total = 0
	assert.Equal(t, "demo:data: 3 MiB, 1.5 MiB/s", m.text(2*time.Second))
}

func TestFirstWords(t *testing.T) {
	f := &firstWords{}
	for range 100 {
		n, err := fmt.Fprintln(f, "tar: a: Cannot open: Permission denied")
		require.NoError(t, err)
		assert.Equal(t, 39, n)
	}
	assert.Len(t, f.text.String(), maxWords)
	assert.True(t, strings.HasPrefix(f.String(), "tar: a: Cannot open: Permission denied; tar:"))
}

func TestPlaces(t *testing.T) {
	for text, want := range map[string]place{
		"demo:data": {"demo", "data"}, "demo:": {"demo", "."}, "demo:/tmp/a:b": {"demo", "/tmp/a:b"}, "demo:~/x": {"demo", "x"},
		"./demo:data": {"", "./demo:data"}, "/a:b": {"", "/a:b"}, "C:\\a": {"", "C:\\a"}, "Demo:a": {"", "Demo:a"}, ":a": {"", ":a"},
	} {
		assert.Equal(t, want, placeOf(text), text)
	}
	for text, want := range map[string]string{"demo:data": "data", "demo:data/": "data", "demo:": "user", "demo:data/.": ".", "demo:./": ".", "demo:..": "home", "demo:/a/b": "b"} {
		assert.Equal(t, want, placeOf(text).remoteBase("/home/user"), text)
	}
}

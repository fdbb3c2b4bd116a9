package cp

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// place is a path on this machine or in a cluster.
type place struct {
	// cluster is empty for this machine.
	cluster string
	path    string
}

// remotePlace is NAME:PATH. Any other path with a colon in it is written ./PATH.
var remotePlace = regexp.MustCompile(`(?s)^([a-z](?:[-a-z0-9]*[a-z0-9])?):(.*)$`)

// placeOf reads an argument. Paths in clusters begin at the home directory.
func placeOf(text string) place {
	match := remotePlace.FindStringSubmatch(text)
	if match == nil {
		return place{path: text}
	}
	inside := strings.TrimPrefix(match[2], "~/")
	if inside == "" || inside == "~" {
		inside = "."
	}
	return place{cluster: match[1], path: inside}
}

func (p place) remote() bool { return p.cluster != "" }

func (p place) String() string {
	if p.remote() {
		return p.cluster + ":" + p.path
	}
	return p.path
}

// localBase is the name under which a directory takes what is at a place of this machine; "." lets it take what is in
// it.
func (p place) localBase() (string, error) {
	if name := filepath.Base(p.path); name != ".." {
		return name, nil
	}
	absolute, err := filepath.Abs(p.path)
	return filepath.Base(absolute), err
}

// remoteBase is that of a place in a cluster.
func (p place) remoteBase(home string) string {
	if name := path.Base(p.path); name != ".." && (name != "." || p.path != ".") {
		return name
	}
	return path.Base(path.Join(home, p.path))
}

// places reads the two arguments of the command, of which one is in a cluster.
func places(args []string) (from, to place, err error) {
	from, to = placeOf(args[0]), placeOf(args[1])
	switch {
	case from.remote() && to.remote():
		err = fmt.Errorf("both %s and %s are in clusters; copy to this machine first, and from there", from, to)
	case !from.remote() && !to.remote():
		err = fmt.Errorf("neither %s nor %s is in a cluster; write NAME:PATH, such as demo:data", from, to)
	case from.path == "" || to.path == "":
		err = errors.New("a path is empty; write . for this directory")
	}
	return from, to, err
}

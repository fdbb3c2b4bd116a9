package nodeplan

import (
	"strconv"
	"strings"
)

func nodeName(set string, index int) string { return set + "-" + strconv.Itoa(index) }

// splitNodeName undoes nodeName; ok is false for a name that it does not make.
func splitNodeName(name string) (set string, index int, ok bool) {
	cut := strings.LastIndexByte(name, '-')
	if cut < 1 {
		return "", 0, false
	}
	index, err := strconv.Atoi(name[cut+1:])
	if err != nil || nodeName(name[:cut], index) != name {
		return "", 0, false
	}
	return name[:cut], index, true
}

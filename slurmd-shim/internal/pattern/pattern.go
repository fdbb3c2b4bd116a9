// Package pattern has regular expressions that are compiled when they are first used. slurmd-shim is started several times in
// each pod, for something else each time, and most starts need none of its expressions: compiling them all takes half a
// millisecond and 0.2 MB.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns the compiled expression. It panics if the expression is wrong.
type Lazy func() *regexp.Regexp

// New makes a Lazy of an expression in the syntax of package regexp.
func New(expression string) Lazy {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

package output

import (
	"fmt"
	"strings"

	"github.com/mitchellh/go-wordwrap"
)

// indent is what stands before the lines of a section.
const indent = "  "

// Section is a title with lines below it.
type Section struct {
	Title string
	text  strings.Builder
}

// Add adds a value under a label; an empty value is left out.
func (s *Section) Add(label, value string) {
	if value == "" {
		return
	}
	const width = 14
	lines := strings.Split(wordwrap.WrapString(value, Columns-uint(len(indent))-width), "\n")
	fmt.Fprintf(&s.text, "%s%-*s%s\n", indent, width, label, strings.Join(lines, "\n"+indent+strings.Repeat(" ", width)))
}

// AddText adds lines as they are, as far as they fit.
func (s *Section) AddText(text string) {
	for line := range strings.Lines(text) {
		wrapped := wordwrap.WrapString(strings.TrimRight(line, "\n"), Columns-uint(len(indent)))
		s.text.WriteString(indent + strings.ReplaceAll(wrapped, "\n", "\n"+indent) + "\n")
	}
}

// String implements fmt.Stringer.
func (s *Section) String() string { return s.Title + "\n" + s.text.String() }

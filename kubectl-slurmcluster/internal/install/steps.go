package install

import (
	"fmt"
	"io"
)

// step is something to do, with the words for it.
type step struct {
	subject string
	do      func() (string, error)
}

// runSteps takes one step after the other and tells what each came to.
func runSteps(out io.Writer, steps []step) error {
	for _, s := range steps {
		result, err := s.do()
		if err != nil {
			return fmt.Errorf("%s: %w", s.subject, err)
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", s.subject, result); err != nil {
			return err
		}
	}
	return nil
}

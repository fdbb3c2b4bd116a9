package status

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/mitchellh/go-wordwrap"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/term"

	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/output"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/progress"
)

// interval is how long a report stays.
const interval = 2 * time.Second

// Sequences that every terminal knows.
const (
	clearScreen = "\x1b[2J"
	topLeft     = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// separator stands between reports where they follow each other; in YAML, it separates documents.
const separator = "---\n"

// follow shows the cluster again and again, until somebody interrupts it or the cluster is gone: on a terminal in
// place, elsewhere one below the other.
func follow(ctx context.Context, env *cli.Env, name string, format *output.Format) error {
	for first := true; ctx.Err() == nil; first = false {
		if err := show(ctx, env, name, first, format); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
	return nil
}

// show shows the cluster once. After the first time, only its end is an error: others may pass.
func show(ctx context.Context, env *cli.Env, name string, first bool, format *output.Format) error {
	r, err := gather(ctx, env, name)
	switch {
	case err != nil && (first || errors.Is(err, cli.ErrNotFound)):
		return err
	case printers.IsTerminal(env.Out) && !format.ForPrograms():
		return redraw(env.Out, first, size(env.Out), textOr(r, err))
	case err != nil:
		_, err = io.WriteString(env.ErrOut, "error: "+err.Error()+"\n")
		return err
	}
	return appendReport(env, r, first, format)
}

// textOr is the report, or why there is none at the moment.
func textOr(r *report, err error) string {
	if err != nil {
		return wordwrap.WrapString("error: "+err.Error(), columns) + "\n"
	}
	return r.text()
}

func appendReport(env *cli.Env, r *report, first bool, format *output.Format) error {
	if !first && !format.Is(output.JSON, output.Name) {
		if _, err := io.WriteString(env.Out, separator); err != nil {
			return err
		}
	}
	return r.print(env, format)
}

// redraw writes over what is on the terminal line by line, so that nothing flickers. What has no room is left out: if it
// made the terminal scroll, the top would be lost.
func redraw(out io.Writer, first bool, size term.TerminalSize, text string) error {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height := int(size.Height); height > 1 && len(rows) > height-1 {
		rows = append(rows[:height-2], "... the terminal has no room for more")
	}
	var frame strings.Builder
	if first {
		frame.WriteString(clearScreen)
	}
	frame.WriteString(topLeft)
	for _, row := range rows {
		if width := int(size.Width); width > 3 {
			row = progress.Truncate(row, width)
		}
		// Behind a full line, the sequence would clear its last character.
		frame.WriteString(clearLine + row + "\n")
	}
	frame.WriteString(clearBelow)
	_, err := io.WriteString(out, frame.String())
	return err
}

// size is that of a terminal; zeros: not known.
func size(out io.Writer) term.TerminalSize {
	if known := (term.TTY{Out: out}).GetSize(); known != nil {
		return *known
	}
	return term.TerminalSize{}
}

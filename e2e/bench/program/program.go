// Package program is what the programs that measure have in common: how they begin and end, how they tell how far they are,
// and how they leave things as they were.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Main runs a program until it is done or told to end. Its error is the program's last word, after its name.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, err)
		os.Exit(1) //nolint:gocritic // what stop would undo ends with the process
	}
}

// SlurmImage is the image to measure with where none is named.
func SlurmImage() string {
	first, _, _ := strings.Cut(os.Getenv("SLURM_IMAGES"), ",")
	return cmp.Or(first, "localhost/slurmcluster/slurm:trixie")
}

// Progress says on standard error how far something is.
func Progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Undo are steps back.
type Undo []func(context.Context) error

// Later adds one.
func (u *Undo) Later(step func(context.Context) error) { *u = append(*u, step) }

// All does all of them, the newest first, and those after one that fails as well.
func (u *Undo) All(ctx context.Context) (errs error) {
	for i := len(*u) - 1; i >= 0; i-- {
		errs = errors.Join(errs, (*u)[i](ctx))
	}
	return errs
}

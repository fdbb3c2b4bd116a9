// Package exit gives an error the exit status that the process should end with.
package exit

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Error is an error with the exit status of the process that ends because of it.
type Error struct {
	// Code is the exit status, 1 to 255.
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its exit status.
func (e *Error) Unwrap() error { return e.Err }

// Configf makes an error that says which input is wrong; its status is contract.ExitConfig.
func Configf(format string, args ...any) error {
	return &Error{Code: contract.ExitConfig, Err: fmt.Errorf(format, args...)}
}

// Code returns the exit status for err: 0 for nil, the status of the Error in its chain, else 1.
func Code(err error) int {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 1
}

// Signal returns the status by which shells and the kubelet report death by a signal.
func Signal(s syscall.Signal) int { return 128 + int(s) }

// OfChild returns the exit status of a child whose Wait returned err: its own, 128 plus the number of the
// signal that killed it, or 1 when it could not be waited for.
func OfChild(err error) int {
	if err == nil {
		return 0
	}
	var child *exec.ExitError
	if !errors.As(err, &child) {
		return 1
	}
	if ws, ok := child.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Signal(ws.Signal())
	}
	return child.ExitCode()
}

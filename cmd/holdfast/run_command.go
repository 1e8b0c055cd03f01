package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
)

// findCommand is the reason why a command cannot be run. It is called before the wait for
// the lock.
func findCommand(command string) error {
	_, err := exec.LookPath(command)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrDot):
		return exitWith(exitNotFound, fmt.Errorf("%s: found in the current directory only; to run it, use ./%s", command, command))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitWith(exitNotFound, fmt.Errorf("%s: not found", command))
	}
	return exitWith(exitNotExecutable, fmt.Errorf("cannot run %s: %w", command, errors.Unwrap(err)))
}

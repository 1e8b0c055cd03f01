package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
)

// findCommand says what keeps a command from being run, before anybody waits
// for a lock to find out.
func findCommand(command string) error {
	_, err := exec.LookPath(command)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrDot):
		return &exitError{exitNotFound, fmt.Errorf("%s: found in the current directory only; to run it, use ./%s", command, command)}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return &exitError{exitNotFound, fmt.Errorf("%s: not found", command)}
	}
	return &exitError{exitNotExecutable, fmt.Errorf("cannot run %s: %w", command, errors.Unwrap(err))}
}

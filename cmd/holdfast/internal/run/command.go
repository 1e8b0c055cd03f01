package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// FindCommand is the reason why a command cannot be run. It is called before the wait for
// the lock.
func FindCommand(command string) error {
	_, err := exec.LookPath(command)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrDot):
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("%s: found in the current directory only; to run it, use ./%s", command, command))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("%s: not found", command))
	}
	return cli.Exit(cli.ExitNotExecutable, fmt.Errorf("cannot run %s: %w", command, errors.Unwrap(err)))
}

// Env is outer with what a command can know about its lease. What a lock
// around this one has set comes first and so gives way: package exec keeps the
// last of each name, and only that.
func Env(outer []string, owner string, lease *holdfast.Lease) []string {
	return append(slices.Clip(outer),
		"HOLDFAST_NAME="+lease.Name(),
		"HOLDFAST_OWNER="+owner,
		"HOLDFAST_TOKEN="+strconv.FormatInt(lease.Token(), 10),
	)
}

//go:build linux

package workers

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// netns is the path of the network namespace of a process in this role.
func (r *role) netns() string {
	if r.Client == nil {
		return ""
	}
	return r.Client.Netns
}

// enter takes this thread into the namespace: what it starts is there.
func (r *role) enter() error {
	path := r.netns()
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("%s: setns: %w", path, err)
	}
	return nil
}

//go:build unix && !linux

package dbtest

import (
	"os/exec"
	"syscall"
)

func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	done := make(chan struct{})
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return done, nil
}

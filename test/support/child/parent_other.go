//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

func dieWithParent(*exec.Cmd, syscall.Signal) {}

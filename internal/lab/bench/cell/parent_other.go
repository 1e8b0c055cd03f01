//go:build !linux

package cell

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }

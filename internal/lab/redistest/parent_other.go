//go:build !linux

package redistest

import "syscall"

// dieWithParent is nothing here: only Linux can do it.
func dieWithParent() *syscall.SysProcAttr { return nil }

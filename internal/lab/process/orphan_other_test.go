//go:build unix && !linux

package process_test

import "syscall"

// dieWithParent is nothing here: only Linux can do it. A child that is not
// frozen ends with its standard input.
func dieWithParent() *syscall.SysProcAttr { return nil }

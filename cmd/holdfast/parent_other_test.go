//go:build !linux

package main

import (
	"os"
	"syscall"
	"time"
)

// endsWith ends this process when its parent ends, however that ends. A frozen one stays.
func endsWith(parent int) {
	go func() {
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
		os.Exit(1)
	}()
}

// endsWithTests is nothing here: other programs outlive tests that are killed.
func endsWithTests() *syscall.SysProcAttr { return nil }

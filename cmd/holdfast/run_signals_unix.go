//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// passed are the signals that a command gets when we get them.
var passed = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT,
}

// catchSignals collects the signals that end a wait and that a command gets. A
// signal that was ignored when we started stays ignored, for the command too,
// as nohup wants it.
func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, sig := range passed {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	surviveBrokenPipe()
	return signals
}

// surviveBrokenPipe makes a write to a stderr without a reader an error. By default it
// kills a Go program, and with it the command.
func surviveBrokenPipe() {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
}

// ends reports whether a signal ends a wait.
func ends(sig os.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM:
		return true
	}
	return false
}

// refuseStop sends the signal of ctrl-Z to signals from now on.
func refuseStop(signals chan os.Signal) {
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(signals, syscall.SIGTSTP)
	}
}

// stops reports whether sig would stop a process until SIGCONT.
func stops(sig os.Signal) bool { return sig == syscall.SIGTSTP }

//go:build unix

package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// Passed are the signals that a command gets when we get them.
var Passed = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT,
}

// Catch collects the signals that end a wait and that a command gets. A
// signal that was ignored when we started stays ignored, for the command too,
// as nohup wants it.
func Catch() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, sig := range Passed {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	SurviveBrokenPipe()
	return signals
}

// SurviveBrokenPipe makes a write to a stderr without a reader an error. By default it
// kills a Go program, and with it the command.
func SurviveBrokenPipe() {
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
}

// Ends reports whether a signal ends a wait.
func Ends(sig os.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM:
		return true
	}
	return false
}

// RefuseStop sends the signal of ctrl-Z to signals from now on.
func RefuseStop(signals chan os.Signal) {
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(signals, syscall.SIGTSTP)
	}
}

// Stops reports whether sig would stop a process until SIGCONT.
func Stops(sig os.Signal) bool { return sig == syscall.SIGTSTP }

package signals

import (
	"os"
	"os/signal"
)

// Catch collects what ends a wait. A command gets ctrl-C from the console
// itself, so while one runs the signal is only kept from ending us.
func Catch() chan os.Signal {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt)
	return signals
}

// Ends reports whether a signal ends a wait.
func Ends(os.Signal) bool { return true }

// RefuseStop does nothing: there is no ctrl-Z here.
func RefuseStop(chan os.Signal) {}

// Stops reports whether a signal stops a process until SIGCONT: none does here.
func Stops(os.Signal) bool { return false }

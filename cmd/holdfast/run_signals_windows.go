package main

import (
	"os"
	"os/signal"
)

// catchSignals collects what ends a wait. A command gets ctrl-C from the console
// itself, so while one runs the signal is only kept from ending us.
func catchSignals() chan os.Signal {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt)
	return signals
}

func ends(os.Signal) bool { return true }

func refuseStop(chan os.Signal) {}

func stops(os.Signal) bool { return false }

package bench

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// INFO commandstats counts what clients send and what scripts call under the
// same names. What clients send is told apart by name: each contender lists the
// commands that its client sends, and its scripts call none of those (all
// scripts come as EVALSHA; a client that sends SET itself has no SET in its
// scripts). TestSends watches them with MONITOR, which marks what scripts call,
// and fails when a list lacks a command or has one that scripts call too.
// Everything else that was counted ran in scripts, except for these.

// uncounted are what the benchmark asks the server itself, and what clients send
// once for each connection: a pool that grows during the window is no cost of
// locking.
var uncounted = []string{"info", "flushall", "auth", "hello", "client", "select", "command", "cluster"}

func isUncounted(command string) bool {
	command, _, _ = strings.Cut(command, "|") // client|setinfo
	return slices.Contains(uncounted, command)
}

// commands is one look at the server's counters.
type commands struct {
	at    time.Time
	calls map[string]int64
}

func lookAtCommands(server *redistest.Server) (commands, error) {
	calls, err := server.CommandStats()
	delete(calls, "total")
	return commands{time.Now(), calls}, err
}

// rates returns how many commands clients sent, and how many more scripts
// called, in a second between two looks.
func rates(from, to commands, sends []string) (sent, inScripts float64) {
	for name := range to.calls {
		n := float64(to.calls[name] - from.calls[name])
		switch {
		case isUncounted(name):
		case slices.Contains(sends, name):
			sent += n
		default:
			inScripts += n
		}
	}
	seconds := to.at.Sub(from.at).Seconds()
	return sent / seconds, inScripts / seconds
}

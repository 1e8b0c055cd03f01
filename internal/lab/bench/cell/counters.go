package cell

import (
	"fmt"
	"slices"
	"strconv"
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

// IsUncounted reports whether a command is no cost of locking.
func IsUncounted(command string) bool {
	command, _, _ = strings.Cut(command, "|") // client|setinfo
	return slices.Contains(uncounted, command)
}

// counters is one look at what the server counts.
type counters struct {
	at    time.Time
	calls map[string]int64 // by command
	cpu   time.Duration    // the server's own, since its start
}

func lookAtCounters(server *redistest.Server) (counters, error) {
	calls, err := server.CommandStats()
	if err != nil {
		return counters{}, err
	}
	delete(calls, "total")
	c := counters{at: time.Now(), calls: calls}
	info, err := server.Do("INFO", "cpu")
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return c, fmt.Errorf("INFO cpu: %w", err)
		}
		c.cpu += time.Duration(seconds * float64(time.Second))
	}
	return c, nil
}

// rates returns how many commands clients sent, and how many more scripts
// called, in a second between two looks, and the part of a processor that the
// server used.
func rates(from, to counters, sends []string) (sent, inScripts, cpu float64) {
	for name := range to.calls {
		n := float64(to.calls[name] - from.calls[name])
		switch {
		case IsUncounted(name):
		case slices.Contains(sends, name):
			sent += n
		default:
			inScripts += n
		}
	}
	seconds := to.at.Sub(from.at).Seconds()
	return sent / seconds, inScripts / seconds, (to.cpu - from.cpu).Seconds() / seconds
}

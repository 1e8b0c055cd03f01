package scenario

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
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

// State is one look at what the server counts. Rates are over the time between two
// looks.
type State struct {
	At     time.Time
	Calls  map[string]int64 // by command
	CPU    time.Duration    // the server's own, since its start
	Memory float64          // bytes, by its allocator
	script time.Duration    // spent in EVALSHA
}

// Look asks the server.
func Look(server *redistest.Server) (State, error) {
	calls, err := server.CommandStats()
	if err != nil {
		return State{}, err
	}
	delete(calls, "total")
	info, err := server.Info("everything")
	number := func(text string) float64 {
		n, failed := strconv.ParseFloat(cmp.Or(text, "0"), 64)
		err = errors.Join(err, failed)
		return n
	}
	_, scripts, _ := strings.Cut(info["cmdstat_evalsha"], "usec=")
	scripts, _, _ = strings.Cut(scripts, ",")
	cpu := number(info["used_cpu_user"]) + number(info["used_cpu_sys"])
	return State{
		At: time.Now(), Calls: calls, Memory: number(info["used_memory"]),
		CPU:    time.Duration(cpu * float64(time.Second)),
		script: time.Duration(number(scripts) * float64(time.Microsecond)),
	}, err
}

// PerSecond returns how many of these commands clients have sent per second since. No script of
// ours may call them.
func (s State) PerSecond(since State, commands ...string) float64 {
	var n int64
	for _, c := range commands {
		n += s.Calls[c] - since.Calls[c]
	}
	return float64(n) / s.At.Sub(since.At).Seconds()
}

// Cores returns the part of a core that the server has used since.
func (s State) Cores(since State) float64 {
	return (s.CPU - since.CPU).Seconds() / s.At.Sub(since.At).Seconds()
}

// PerScript returns how long a script has taken on average since, in µs.
func (s State) PerScript(since State) float64 {
	n := s.Calls["evalsha"] - since.Calls["evalsha"]
	if n == 0 {
		return 0
	}
	return float64((s.script - since.script).Nanoseconds()) / 1e3 / float64(n)
}

// rates returns how many commands clients sent, and how many more scripts called, in a
// second between two looks.
func rates(from, to State, sends []string) (sent, inScripts float64) {
	for name := range to.Calls {
		n := to.PerSecond(from, name)
		switch {
		case IsUncounted(name):
		case slices.Contains(sends, name):
			sent += n
		default:
			inScripts += n
		}
	}
	return sent, inScripts
}

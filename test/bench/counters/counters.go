// Package counters reads what a redis-server counts, and what this process allocates.
package counters

import (
	"context"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is what the server has counted when it was asked.
type State struct {
	At     time.Time
	Calls  map[string]float64 // of each command, by clients and by scripts
	CPU    float64            // seconds
	Memory float64            // bytes
	script float64            // seconds in EVALSHA
}

var callsOf = regexp.MustCompile(`calls=(\d+),usec=(\d+)`)

// Read asks the server.
func Read(ctx context.Context, rc *redis.Client) (State, error) {
	s := State{At: time.Now(), Calls: map[string]float64{}}
	text, err := rc.Info(ctx, "everything").Result()
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		number, _ := strconv.ParseFloat(value, 64) // 0 of what is no number
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			s.CPU += number
		case "used_memory":
			s.Memory = number
		}
		if m := callsOf.FindStringSubmatch(value); m != nil && strings.HasPrefix(name, "cmdstat_") {
			command := strings.TrimPrefix(name, "cmdstat_")
			s.Calls[command], _ = strconv.ParseFloat(m[1], 64)
			if command == "evalsha" {
				us, _ := strconv.ParseFloat(m[2], 64)
				s.script = us / 1e6
			}
		}
	}
	return s, err
}

// Cores returns the part of a core that the server has used since.
func (s State) Cores(since State) float64 { return (s.CPU - since.CPU) / s.seconds(since) }

func (s State) seconds(since State) float64 { return s.At.Sub(since.At).Seconds() }

// PerScript returns how long a script has taken on average since, in µs.
func (s State) PerScript(since State) float64 {
	n := s.Calls["evalsha"] - since.Calls["evalsha"]
	if n == 0 {
		return 0
	}
	return (s.script - since.script) * 1e6 / n
}

// Redis counts the commands of clients and those that scripts call under the same names. They
// are told apart by name: clients send these and what their contender lists, and no script
// calls any of them. TestSends checks that.
var sent = []string{"evalsha", "eval", "subscribe", "unsubscribe", "ping"}

// uncounted are commands of the benchmark itself, and what clients send once for each
// connection.
var uncounted = []string{"info", "flushall", "auth", "hello", "client", "select", "command", "cluster"}

// Of reports whether a command counts at all, and whether it is one that clients send.
func Of(command string, sends []string) (counts, bySent bool) {
	command, _, _ = strings.Cut(command, "|") // client|setinfo
	return !slices.Contains(uncounted, command), slices.Contains(sent, command) || slices.Contains(sends, command)
}

// PerSecond returns how many commands clients sent, and how many more scripts called, per
// second since.
func (s State) PerSecond(since State, sends []string) (bySent, inScripts float64) {
	for command, calls := range s.Calls {
		n := (calls - since.Calls[command]) / s.seconds(since)
		switch counts, isSent := Of(command, sends); {
		case !counts:
		case isSent:
			bySent += n
		default:
			inScripts += n
		}
	}
	return bySent, inScripts
}

// Allocated is how many objects or bytes this process has allocated.
func Allocated(what string) float64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:" + what}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}

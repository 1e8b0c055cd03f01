package bulk

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// bulkMemory is what a process uses, garbage aside.
type bulkMemory struct {
	Heap       float64 // bytes in live objects
	Stack      float64 // bytes in stacks
	Goroutines int
}

func measureMemory() bulkMemory {
	var m runtime.MemStats
	for range 3 { // what a pool holds lives for two
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return bulkMemory{Heap: float64(m.HeapAlloc), Stack: float64(m.StackInuse), Goroutines: runtime.NumGoroutine()}
}

// serverState is one look at what the server counts. The time between two looks
// is what rates are over.
type serverState struct {
	at     time.Time
	cpu    time.Duration // the server's own, since its start
	memory float64       // bytes, by its allocator
	calls  map[string]int64
	script time.Duration // spent in EVALSHA
}

func lookAtServer(server *redistest.Server) (serverState, error) {
	calls, err := server.CommandStats()
	if err != nil {
		return serverState{}, err
	}
	info, err := server.Do("INFO", "everything")
	if err != nil {
		return serverState{}, err
	}
	s := serverState{at: time.Now(), calls: calls}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return s, fmt.Errorf("INFO %s: %w", name, err)
			}
			s.cpu += time.Duration(seconds * float64(time.Second))
		case "used_memory":
			if s.memory, err = strconv.ParseFloat(value, 64); err != nil {
				return s, fmt.Errorf("INFO %s: %w", name, err)
			}
		case "cmdstat_evalsha":
			_, usec, _ := strings.Cut(value, "usec=")
			usec, _, _ = strings.Cut(usec, ",")
			us, err := strconv.ParseInt(usec, 10, 64)
			if err != nil {
				return s, fmt.Errorf("INFO %s: %w", name, err)
			}
			s.script = time.Duration(us) * time.Microsecond
		}
	}
	return s, nil
}

// perSecond is how many of these commands clients sent in a second since. They
// must be ones that no script of ours calls.
func (s serverState) perSecond(since serverState, commands ...string) float64 {
	var n int64
	for _, c := range commands {
		n += s.calls[c] - since.calls[c]
	}
	return float64(n) / s.at.Sub(since.at).Seconds()
}

// cores is the part of a core that the server used since.
func (s serverState) cores(since serverState) float64 {
	return (s.cpu - since.cpu).Seconds() / s.at.Sub(since.at).Seconds()
}

// perScript is what a script took on average since, in µs.
func (s serverState) perScript(since serverState) float64 {
	n := s.calls["evalsha"] - since.calls["evalsha"]
	if n == 0 {
		return 0
	}
	return float64((s.script - since.script).Nanoseconds()) / 1e3 / float64(n)
}

// Scale is how much of a bulk workload is done.
type Scale int

const (
	// Quick takes seconds, and shows that all runs: its figures are of little
	// worth.
	Quick Scale = iota
	// Full is what the limits are about.
	Full
)

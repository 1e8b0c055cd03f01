package machine

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
)

var histories = flag.String("search.histories", "", "TestHistories writes random histories of the model of the server to this `file`")

// heard is what a process hears of the server.
type heard struct {
	Process int
	Push    string
}

// served is one script that ran on the model of the server. Package test/search plays it into
// the scripts.
type served struct {
	First    bool     // the server was empty before
	At       int64    // microseconds by the clock of the server
	Listens  []string // channels that somebody listens to
	Channels []string // of the processes
	Deleted  bool     // the lock key was deleted, and no script ran
	Script   string
	Keys     []string
	Args     []string
	Reply    []string
	Heard    []heard
}

// TestHistories writes down what the model of the server answers to processes at random.
func TestHistories(t *testing.T) {
	if *histories == "" {
		t.Skip("-args -search.histories FILE writes them")
	}
	f, err := os.Create(*histories)
	if err != nil {
		t.Fatal(err)
	}
	out := json.NewEncoder(f)
	for seed := range uint64(400) {
		h := history{out: out, chance: rand.New(rand.NewPCG(seed, 1)), w: newWorld(base("random", func(b *searchBounds) {
			b.procs, b.callers, b.line, b.giveUp = 3, 4, 2, seed%2 == 0
			b.ttl, b.window, b.block = 4*grid, 2*grid, 64
			b.faults = faults{Lose: 2, Reset: 1, Delay: 3, Dup: 2, Crash: uint8(seed / 2 % 2), Freeze: 1, Break: 1, Evict: uint8(seed / 4 % 2)}
		}))}
		for _, pr := range h.w.procs {
			h.channels = append(h.channels, pr.p.sub.Channel)
		}
		for range 300 {
			h.goOn()
		}
		if h.err != nil {
			t.Fatal(h.err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// history plays at random what a server meets.
type history struct {
	out      *json.Encoder
	chance   *rand.Rand
	w        *world
	channels []string
	begun    bool
	keys     []string
	err      error
}

// goOn is one step of the processes.
func (h *history) goOn() {
	steps := h.w.next(nil)
	if len(steps) == 0 {
		return
	}
	s := steps[h.chance.IntN(len(steps))]
	line := h.line()
	line.Deleted = s.what == evicts
	isScript := s.what == runs && h.w.net[s.at].kind == requestMessage
	if isScript {
		c := &h.w.net[s.at].call
		line.Script, line.Keys, line.Args = c.Script.Name, c.Keys, c.Args
		h.keys = c.Keys
	}
	h.w.do(s)
	line.Reply = h.w.answered
	if line.Deleted {
		line.Keys = h.keys
	}
	if isScript || line.Deleted {
		h.write(line)
	}
}

func (h *history) line() *served {
	line := &served{First: !h.begun, At: h.w.us(), Channels: h.channels}
	for p, attempt := range h.w.server.listens {
		if attempt > 0 {
			line.Listens = append(line.Listens, h.channels[p])
		}
	}
	h.w.heard, h.w.answered = &line.Heard, nil
	return line
}

func (h *history) write(line *served) {
	h.begun = true
	if err := h.out.Encode(line); h.err == nil {
		h.err = err
	}
}

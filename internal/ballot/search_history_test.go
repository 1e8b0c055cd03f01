package ballot

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

var histories = flag.String("search.histories", "", "TestHistories writes random histories of the model of the nodes to this `file`")

// served is one script that ran on the model of a node, or what happened to that node. Package
// test/search plays it into the scripts.
type served struct {
	First    bool // the nodes were new before
	Node     int
	At       int64 // microseconds by the clock of the node
	Script   string
	Keys     []string
	Args     []string
	Answer   wire.Answer
	Commands [][]string // instead of a script; RUN is the run id of the node
}

// TestHistories writes down what the model of the nodes answers to Ballots at random.
func TestHistories(t *testing.T) {
	if *histories == "" {
		t.Skip("-args -search.histories FILE writes them")
	}
	f, err := os.Create(*histories)
	if err != nil {
		t.Fatal(err)
	}
	out := json.NewEncoder(f)
	for seed := range uint64(80) {
		h := history{chance: rand.New(rand.NewPCG(seed, 1)), w: newWorld(base("random", func(b *searchBounds) {
			b.tries, b.renew, b.ahead, b.far, b.giveUp = []int{8, 8}, 9, 5_000_000, seed%2 == 0, seed%8 == 0
			b.faults = faults{Late: 20, Lose: 4, Fail: 3, Dup: 5, Restart: uint8(seed / 2 % 3)}
			b.attempt, b.keep, b.forget, b.empty = 2*grid, true, true, seed%5 == 0
			b.horizon, b.sitOut, b.clamp = 1e6, protocol.MaxQuorumTTL, protocol.TokensPerMicrosecond*1e6
			b.loose = seed%4 == 1
			if seed%4 == 3 {
				b.nodes, b.replace = 5, true
			}
		}), "")}
		for i := range h.w.masters {
			line := h.line(i)
			line.First, line.Commands = i == 0, h.marker(i)
			h.lines = append(h.lines, line)
		}
		for range 300 {
			h.goOn()
		}
		for _, line := range h.lines {
			if err := out.Encode(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// history plays at random what nodes meet.
type history struct {
	chance *rand.Rand
	w      *world
	lines  []*served
}

func (h *history) line(node int) *served {
	return &served{Node: node, At: (h.w.tokenClock() + h.w.masters[node].ahead) / protocol.TokensPerMicrosecond}
}

// marker are the commands after which a node has the marker of its model. The marker has a time of the
// node, and not only a duration.
func (h *history) marker(i int) [][]string {
	m, run := &h.w.masters[i], "RUN"
	if m.mark == "" {
		return [][]string{{"DEL", keyspace.Marker}}
	}
	if m.restarted {
		run = "0"
	}
	until := h.line(i).At + int64(max(0, m.until.Sub(h.w.now))/time.Microsecond)
	return [][]string{{"SET", keyspace.Marker, fmt.Sprintf("%s:%d:%s", run, until, m.mark)}}
}

// goOn is one step.
func (h *history) goOn() {
	w := h.w
	steps := w.next(nil)
	if len(steps) == 0 {
		return
	}
	s := steps[h.chance.IntN(len(steps))]
	if s.what == releases { // seldom, or few leases are renewed and repaired
		s = steps[h.chance.IntN(len(steps))]
	}
	if i := slices.IndexFunc(steps, func(s step) bool { return s.what == renewalIsSent }); i >= 0 && h.chance.IntN(2) == 0 {
		s = steps[i]
	}
	switch s.what {
	case runs:
		m := *w.net[s.at]
		call := *m.call
		call.Node = w.at(&m)
		line := h.line(call.Node)
		line.Script, line.Keys, line.Args = call.Script.Name, call.Keys, call.Args
		before := w.masters[call.Node]
		line.Answer = w.run(&call)
		w.masters[call.Node] = before // do runs it again
		w.do(s)
		h.lines = append(h.lines, line)
	case restarts, noticesRestart, endsEarly, removesMember, addsMember:
		line := h.line(int(s.at))
		w.do(s)
		line.Commands = h.marker(int(s.at))
		keys := keyspace.KeysBeside("a")
		switch {
		case w.masters[s.at].fence == 0:
			line.Commands = append(line.Commands, []string{"DEL", keys.Lock(), keys.Fence()})
		case s.what == endsEarly:
			line.Commands = append(line.Commands, []string{"DEL", keys.Lock()})
		}
		h.lines = append(h.lines, line)
	default:
		w.do(s)
	}
}

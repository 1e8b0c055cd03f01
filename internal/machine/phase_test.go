package machine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/wire"
)

// ways into each phase, for the tenure whose id is #1. An idle tenure is held, and no turn is out.
var ways = []struct {
	phase  string
	inputs []input
}{
	{"asked", []input{enter("a")}},
	{"queued", []input{enter("a"), answer("lock", inQueue(0))}},
	{"holding", []input{enter("a"), answer("lock", granted(1, 8)), pushed(wire.PushRevoked, "#1")}},
	{"idle", []input{enter("a"), answer("lock", granted(1, 8)), pushed(wire.PushRevoked, "#1"), release("a")}},
	{"releasing", []input{enter("a"), answer("lock", granted(1, 8)), pushed(wire.PushRecall, "#1"), release("a")}},
	{"unreleased", []input{enter("a"), answer("lock", granted(1, 8)), pushed(wire.PushRevoked, "#1"), sleep(14900 * time.Millisecond)}},
	{"ended", []input{enter("a"), answer("lock", inQueue(0)), leave("a")}},
}

// phases says which phase follows each event, in the order of ways. A dash: it does not happen there.
var phases = []struct {
	event   string
	in      input
	follows string
}{
	{"a caller comes", enter("b"), "asked queued holding holding releasing unreleased ended"},
	{"the caller gives up", leave("a"), "ended ended holding idle releasing unreleased ended"},
	{"lock: granted", answer("lock", granted(9, 8)), "holding holding holding idle releasing unreleased ended"},
	{"lock: queued", answer("lock", inQueue(0)), "queued queued holding idle releasing unreleased ended"},
	{"lock: held", answer("lock", heldByAnother()), "asked queued holding idle releasing unreleased ended"},
	{"lock: an error", fail("lock", errNetwork), "asked queued holding idle releasing unreleased ended"},
	{"push: grant", grantPushed("#1", 9, 8, time.Millisecond), "holding holding holding idle releasing unreleased ended"},
	{"push: recall", pushed(wire.PushRecall, "#1"), "asked queued holding releasing releasing unreleased ended"},
	{"push: missed", pushed(wire.PushMissed, "#1"), "asked queued holding idle releasing unreleased ended"},
	{"push: revoked", pushed(wire.PushRevoked, "#1"), "asked queued holding idle releasing unreleased ended"},
	{"renew: renewed", answer("renew", renewed()), "- - holding idle - unreleased -"},
	{"renew: others wait", answer("renew", wire.Answer{Word: wire.Renewed, Base: 1, Waiting: 1}), "- - holding releasing - unreleased -"},
	{"renew: lost", answer("renew", wire.Answer{Word: wire.Lost}), "- - ended ended - unreleased -"},
	{"renew: stolen", answer("renew", wire.Answer{Word: wire.Stolen}), "- - ended ended - unreleased -"},
	{"renew: revoked", answer("renew", wire.Answer{Word: wire.Revoked}), "- - unreleased ended - unreleased -"},
	{"renew: an error", fail("renew", errNetwork), "- - holding idle - unreleased -"},
	{"Release", release("a"), "- - idle - - ended -"},
	{"Export", export("a"), "- - unreleased - - unreleased -"},
	{"unlock: released", answer("unlock", released()), "- - - - ended - -"},
	{"unlock: not held", answer("unlock", wire.Answer{Word: wire.NotHeld}), "- - - - ended - -"},
	{"unlock: an error", fail("unlock", errNetwork), "- - - - releasing - -"},
	{"the subscription ends", broken, "asked queued holding idle releasing unreleased ended"},
	{"the deadline", sleep(15 * time.Second), "asked queued unreleased ended ended unreleased ended"},
}

// Each event leads from each phase to the one of the table, and never back.
func TestPhaseAfterEachEvent(t *testing.T) {
	for _, row := range phases {
		follows := strings.Fields(row.follows)
		for i, way := range ways {
			if follows[i] == "-" {
				continue
			}
			t.Run(row.event+" while "+way.phase, func(t *testing.T) {
				y := newPlay(t, Settings{Linger: time.Hour})
				confirmed(y)
				for j, in := range way.inputs {
					y.after(in)
					if j == 0 {
						y.tenure = y.p.names["n"].tenure
					}
				}
				if got := y.phase(); got != way.phase {
					t.Fatalf("it is %s before that", got)
				}
				was := y.tenure.phase
				y.after(row.in)
				if got := y.phase(); got != follows[i] {
					t.Errorf("it is %s then, want %s", got, follows[i])
				}
				if y.tenure.phase < was {
					t.Error("it went back")
				}
			})
		}
	}
}

var writeTable = flag.Bool("write", false, "TestPhaseTable writes the table of docs/protocol.md")

// The table of docs/protocol.md is that of this file, without what changes nothing.
func TestPhaseTable(t *testing.T) {
	const page, begin, end = "../../docs/protocol.md", "<!-- made by TestPhaseTable -->\n", "<!-- end -->\n"
	var table strings.Builder
	line := func(event string, cells []string) {
		row := fmt.Sprintf("%-22s", event)
		for _, cell := range cells {
			row += fmt.Sprintf("%-11s", cell)
		}
		table.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	last := len(ways) - 1 // nothing ends the last one
	var head []string
	for _, way := range ways[:last] {
		head = append(head, way.phase)
	}
	line("", head)
	for _, row := range phases {
		cells, ends := strings.Fields(row.follows)[:last], false
		for i, cell := range cells {
			if cell == "-" || cell == ways[i].phase {
				cells[i] = ""
			}
			ends = ends || cells[i] != ""
		}
		if ends {
			line(row.event, cells)
		}
	}
	want := begin + "```text\n" + table.String() + "```\n" + end
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	now := string(before) + want + string(after)
	switch {
	case now == string(text):
	case *writeTable:
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has another table: run go test ./internal/machine -run TestPhaseTable -write", page)
	}
}

// phase is that of the first tenure.
func (y *play) phase() string {
	t := y.tenure
	if t.phase == holding && t.name.turn == nil {
		return "idle"
	}
	return [...]string{"asked", "queued", "holding", "releasing", "unreleased", "ended"}[t.phase]
}

// Package once reads and writes the record of the newest run of a name, for Client.Once and
// Client.OnceEvery. A [Book] makes the calls for one name. A [Record] is what Redis stores; a
// [State] or a [Tick] is the answer of the script once/inspect.
package once

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/protocol"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Run has the fields of holdfast.Run, which describes them.
type Run struct {
	Tick    time.Time
	Owner   string
	Token   int64
	Began   time.Time
	Ended   time.Time
	Outcome string
}

// String returns one line for people.
func (r Run) String() string {
	began := "began " + r.Began.UTC().Format(time.RFC3339)
	if !r.Tick.IsZero() {
		began = fmt.Sprintf("of the tick at %s %s", r.Tick.UTC().Format(time.RFC3339), began)
	}
	if r.Ended.IsZero() {
		return fmt.Sprintf("%s on %s, has not ended", began, r.Owner)
	}
	return fmt.Sprintf("%s on %s, took %v: %s", began, r.Owner, r.Ended.Sub(r.Began).Round(time.Millisecond), r.Outcome)
}

// Record is what Redis remembers of the newest run.
type Record struct {
	Run
	Every time.Duration // of its schedule; 0: it has none
}

// parse reads <token>.<began us>.<ended us>|<owner>|<outcome>, as once_begin and once_end
// write it, or with .<tick us>.<period us>.<phase us>.<run> before the first |, as once_lock
// does; nil if it is something else.
func parse(record string) *Record {
	head, rest, ok := strings.Cut(record, "|")
	owner, outcome, also := strings.Cut(rest, "|")
	part := strings.Split(head, ".")
	if !ok || !also || len(part) != 3 && len(part) != 7 {
		return nil
	}
	var figures [6]int64
	for i, text := range part[:min(len(part), len(figures))] { // the seventh is no number
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > protocol.MaxToken {
			return nil
		}
		figures[i] = n
	}
	r := &Record{Run: Run{Owner: keyspace.CleanOwner(owner), Token: figures[0], Began: time.UnixMicro(figures[1])}}
	if figures[2] > 0 {
		r.Ended, r.Outcome = time.UnixMicro(figures[2]), Clean(outcome)
	}
	if len(part) == 7 {
		r.Tick, r.Every = time.UnixMicro(figures[3]), time.Duration(figures[4])*time.Microsecond
	}
	return r
}

// Clean turns an outcome into one line of bounded length.
func Clean(outcome string) string {
	outcome = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(outcome, "?"))
	const longest = 400
	if len(outcome) > longest {
		outcome = strings.ToValidUTF8(outcome[:longest], "") + "…"
	}
	return outcome
}

// State is what Redis says of a name and its record.
type State struct {
	Running bool          // a client holds the name
	Owner   string        // label of that client, or of the last one that held the name; empty if unknown
	DueIn   time.Duration // until the name is free, at the earliest
	Last    *Record       // the newest run; nil if Redis stores none
}

var errAnswer = errors.New("unexpected answer")

func decodeState(reply []string) (s State, err error) {
	if len(reply) != 5 || reply[0] != "once" {
		return State{}, errAnswer
	}
	if ms, err := strconv.ParseInt(reply[3], 10, 64); err == nil && ms > 0 {
		s.DueIn = wire.OfMillis(ms)
	}
	if id, ours := keyspace.ParseID(reply[2]); ours {
		s.Running, s.Owner = true, id.Owner
	} else {
		s.Owner, _ = keyspace.CooldownOwner(reply[2])
	}
	s.Last = parse(reply[4])
	return s, nil
}

// Tick is what Redis says of the nearest tick of a schedule.
type Tick struct {
	State
	Tick, Phase string // in us, as the script that begins the tick takes them

	Another bool // the name has another schedule: that of Last
	Begun   bool // the tick has begun; DueIn is until the next
	Newest  bool // and Last is its run
	Held    bool // somebody has the name
}

// decodeTick reads the answer of once/inspect about a schedule of this period.
func decodeTick(reply []string, period time.Duration) (Tick, error) {
	if len(reply) != 8 {
		return Tick{}, errAnswer
	}
	s, err := decodeState(reply[:5])
	now, wrong := strconv.ParseInt(reply[1], 10, 64)
	tick, alsoWrong := strconv.ParseInt(reply[6], 10, 64)
	if err != nil || wrong != nil || alsoWrong != nil {
		return Tick{}, errAnswer
	}
	t := Tick{State: s, Tick: reply[6], Phase: reply[7], Held: reply[2] != ""}
	last := s.Last
	switch {
	case reply[5] == "another" && last != nil:
		t.Another = true
	case reply[5] == "begun":
		t.Begun, t.Newest = true, last != nil && last.Tick.UnixMicro() == tick
		t.DueIn = time.Duration(tick-now)*time.Microsecond + period
		if last != nil && last.Tick.UnixMicro() > tick { // the clock of Redis was put back
			t.DueIn = last.Tick.Sub(time.UnixMicro(now)) + period
		}
	}
	return t, nil
}

// Phase returns how far the ticks of a schedule are behind the whole periods since 1970, in us.
// The schedule has a tick at this time. If at is zero, Phase returns "".
func Phase(at time.Time, period time.Duration) string {
	if at.IsZero() {
		return ""
	}
	us := period.Microseconds()
	return strconv.FormatInt((at.UnixMicro()%us+us)%us, 10)
}

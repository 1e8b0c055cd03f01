package once

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

func TestParse(t *testing.T) {
	began, ended, tick := time.UnixMicro(1_000_000), time.UnixMicro(3_000_000), time.UnixMicro(900_000)
	for text, want := range map[string]Record{
		"7.1000000.0|web-1:7|":                        {Run: Run{Owner: "web-1:7", Token: 7, Began: began}},
		"7.1000000.3000000|web-1:7|done":              {Run: Run{Owner: "web-1:7", Token: 7, Began: began, Ended: ended, Outcome: "done"}},
		"7.1000000.0.900000.60000000.0.abc|web-1:7|":  {Run: Run{Owner: "web-1:7", Token: 7, Began: began, Tick: tick}, Every: time.Minute},
		"7.1000000.3000000|web-1:7|failed:\x1b[2J|no": {Run: Run{Owner: "web-1:7", Token: 7, Began: began, Ended: ended, Outcome: "failed: [2J|no"}},
	} {
		if got := parse(text); got == nil || *got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"", "7.1.0", "7.1.0|o", "7.1|o|", "7.x.0|o|", "-7.1.0|o|", "7.1.0.1|o|", "9007199254740993.1.0|o|"} {
		if got := parse(text); got != nil {
			t.Errorf("%q: got %+v, want nothing", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("7.1000000.0.900000.60000000.0.abc|web-1:7|done")
	f.Fuzz(func(t *testing.T, text string) {
		if r := parse(text); r != nil && (len(r.Outcome) > 403 || strings.ContainsAny(r.String(), "\n\r\x1b")) {
			t.Errorf("%q: got %q, want one short line", text, r.String())
		}
	})
}

func TestPhase(t *testing.T) {
	for _, test := range []struct {
		at     time.Time
		period time.Duration
		want   string
	}{
		{time.Time{}, time.Minute, ""},
		{time.Unix(90, 0), time.Minute, "30000000"},
		{time.Unix(120, 0), time.Minute, "0"},
		{time.Unix(-15, 0), time.Minute, "45000000"},
	} {
		if got := Phase(test.at, test.period); got != test.want {
			t.Errorf("%v, every %v: got %q, want %q", test.at, test.period, got, test.want)
		}
	}
}

func TestDecodeTick(t *testing.T) {
	const last = "7.90000000.91000000.60000000.60000000.0.abc|web-1:7|done"
	reply := func(holder, verdict, tick string) []string {
		return []string{"once", "100000000", holder, "0", last, verdict, tick, "0"}
	}
	for name, test := range map[string]struct {
		reply []string
		want  Tick // without State, but for DueIn
		due   time.Duration
	}{
		"due":              {reply: reply("", "due", "120000000"), want: Tick{Tick: "120000000", Phase: "0"}},
		"held":             {reply: reply("c.n.15000|o", "due", "120000000"), want: Tick{Tick: "120000000", Phase: "0", Held: true}},
		"another schedule": {reply: reply("", "another", "0"), want: Tick{Tick: "0", Phase: "0", Another: true}},
		"begun":            {reply: reply("", "begun", "60000000"), want: Tick{Tick: "60000000", Phase: "0", Begun: true, Newest: true}, due: 20 * time.Second},
		"the clock back":   {reply: reply("", "begun", "0"), want: Tick{Tick: "0", Phase: "0", Begun: true}, due: 20 * time.Second},
	} {
		got, err := decodeTick(test.reply, time.Minute)
		if err != nil || got.DueIn != test.due || got.Last == nil {
			t.Errorf("%s: got %+v, %v, want it due in %v", name, got, err, test.due)
		}
		got.State = State{}
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
	for _, bad := range [][]string{nil, {"once"}, slices.Concat([]string{"twice"}, reply("", "due", "0")[1:]), reply("", "due", "x")} {
		if got, err := decodeTick(bad, time.Minute); !errors.Is(err, errAnswer) {
			t.Errorf("%q: got %+v, %v, want an error", bad, got, err)
		}
	}
}

// answering answers every script with one reply.
type answering struct {
	driver.Store
	reply []string
	args  []string
}

func (s *answering) Eval(_ context.Context, call driver.Call) ([]string, error) {
	s.args = call.Args
	return s.reply, nil
}

func TestBook(t *testing.T) {
	keys, err := keyspace.KeysOf("holdfast:", "n")
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]error{"noted": nil, "newer": ErrOther, "scheduled": ErrScheduled} {
		s := &answering{reply: []string{word, "1"}}
		caller := &call.Caller{Store: s, Life: t.Context(), Attempt: time.Second, Clock: clock.New(nil)}
		b := &Book{Name: "n", Keys: keys, Caller: caller, Patience: time.Second, TTL: TTLFor(20*time.Hour) + time.Nanosecond}
		if got := b.End(t.Context(), 7, "done", "abc", "0"); !errors.Is(got, want) {
			t.Errorf("%s: got %v, want %v", word, got, want)
		}
		if args := []string{"7", "done", "144000001", "abc", "0"}; !slices.Equal(s.args, args) {
			t.Errorf("got the arguments %q, want %q", s.args, args)
		}
		if _, err := b.Inspect(t.Context()); !errors.Is(err, errAnswer) {
			t.Errorf("got %v, want an error: it is no state", err)
		}
	}
}

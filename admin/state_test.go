package admin

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/wire"
)

const (
	ours    = "client.nonce.30000|me:1"
	permits = "client.nonce.30000.s3|me:1"
	reads   = "client.nonce.30000.r1|me:1"
	writes  = "client.nonce.30000.w1073741824|me:1"
)

var at = time.UnixMicro(1_700_000_000_000_000)

// tenure is what a Holder has of an id of the client "client".
func tenure(id string, more func(*Holder)) *Holder {
	h := &Holder{
		Owner: "me:1", Hash: keyspace.HashID(id), Client: keyspace.HashClient("client"),
		TTL: 30 * time.Second, client: "client",
	}
	if more != nil {
		more(h)
	}
	return h
}

func TestNewState(t *testing.T) {
	own := keyspace.HashClient("client")
	token := 2 * at.Add(-5*time.Second).UnixMicro() // reserved 5 s ago
	for name, test := range map[string]struct {
		own  string
		wire wire.State
		want State // Name and At are of all
	}{
		"a free name": {
			wire: wire.State{Token: 7},
			want: State{Kind: holdfast.KindMutex, Token: 7},
		},
		"a mutex": {
			wire: wire.State{Value: ours, Held: true, PTTL: 9 * time.Second, Token: token, Revoked: "deploy\n", Term: 3},
			want: State{Kind: holdfast.KindMutex, Token: token, Term: 3, Holder: tenure(ours, func(h *Holder) {
				h.Remaining, h.Held, h.Revoked = 9*time.Second, 5*time.Second, wire.CleanReason("deploy\n")
			})},
		},
		"an own mutex": {
			own:  own,
			wire: wire.State{Value: ours, Held: true},
			want: State{Kind: holdfast.KindMutex, Holder: tenure(ours, func(h *Holder) { h.Own, h.Held = true, time.Duration(at.UnixMicro())*time.Microsecond })},
		},
		"a leader with a value of its own": {
			wire: wire.State{Value: ours, Held: true, Token: 2 * at.UnixMicro(), Leader: "10.0.0.1:80"},
			want: State{Kind: holdfast.KindMutex, Token: 2 * at.UnixMicro(), Holder: tenure(ours, func(h *Holder) { h.Owner = "10.0.0.1:80" })},
		},
		"a token that is ahead of the clock": {
			wire: wire.State{Value: ours, Held: true, Token: 2 * at.Add(time.Hour).UnixMicro()},
			want: State{Kind: holdfast.KindMutex, Token: 2 * at.Add(time.Hour).UnixMicro(), Holder: tenure(ours, nil)},
		},
		"a foreign holder without expiry": {
			own:  own,
			wire: wire.State{Value: "redlock-1", Held: true, PTTL: -time.Millisecond},
			want: State{Kind: holdfast.KindMutex, Holder: &Holder{Foreign: true, Hash: keyspace.HashID("redlock-1"), Remaining: -time.Millisecond}},
		},
		"a cool-down": {
			wire: wire.State{Value: "cooldown|me:1", Held: true, PTTL: time.Second},
			want: State{Kind: holdfast.KindMutex, Holder: &Holder{Cooldown: true, Owner: "me:1", Remaining: time.Second}},
		},
		"a mutex where a semaphore was": {
			wire: wire.State{Value: ours, Held: true, Token: 2 * at.UnixMicro(), Size: 5},
			want: State{Kind: holdfast.KindMutex, Token: 2 * at.UnixMicro(), Size: 5, Holder: tenure(ours, nil)},
		},
		"a damaged size": {
			wire: wire.State{Size: holdfast.MaxSize + 1},
			want: State{Kind: holdfast.KindMutex},
		},
		"a semaphore": {
			own: own,
			wire: wire.State{
				Kind: "semaphore", Size: 5, Used: 4, Holding: 2, Token: token,
				Holders: []wire.HolderState{{ID: permits, Remaining: time.Second, Weight: 3}, {ID: "other.nonce.1000.s1|", Remaining: 2 * time.Second, Weight: 1}},
			},
			want: State{Kind: holdfast.KindSemaphore, Size: 5, Used: 4, Holding: 2, Token: token, Holders: []Holder{
				*tenure(permits, func(h *Holder) { h.Remaining, h.Own, h.Part = time.Second, true, Part{Permits: 3} }),
				{
					Hash: keyspace.HashID("other.nonce.1000.s1|"), Client: keyspace.HashClient("other"), client: "other",
					TTL: time.Second, Remaining: 2 * time.Second, Part: Part{Permits: 1},
				},
			}},
		},
		"readers and a holder that no id names": {
			wire: wire.State{Kind: "rwmutex", Holding: 2, Holders: []wire.HolderState{{ID: reads, Remaining: time.Second, Weight: 1}, {ID: "cooldown|x", Weight: 1}}},
			want: State{Kind: holdfast.KindRWMutex, Holding: 2, Holders: []Holder{
				*tenure(reads, func(h *Holder) { h.Remaining, h.Part = time.Second, Part{Reads: true} }),
				{Owner: "x"},
			}},
		},
		"holders that have reduced their weights": {
			wire: wire.State{Kind: "semaphore", Size: 5, Used: 3, Holding: 2, Holders: []wire.HolderState{{ID: permits, Weight: 2}, {ID: permits, Weight: 1}}},
			want: State{Kind: holdfast.KindSemaphore, Size: 5, Used: 3, Holding: 2, Holders: []Holder{
				*tenure(permits, func(h *Holder) { h.Part = Part{Permits: 2} }),
				*tenure(permits, func(h *Holder) { h.Part = Part{Permits: 1} }),
			}},
		},
		"writers, one of which became a reader": {
			wire: wire.State{Kind: "rwmutex", Holding: 2, Holders: []wire.HolderState{{ID: writes, Weight: 1}, {ID: writes, Weight: 1 << 30}}},
			want: State{Kind: holdfast.KindRWMutex, Holding: 2, Holders: []Holder{
				*tenure(writes, func(h *Holder) { h.Part = Part{Reads: true} }),
				*tenure(writes, func(h *Holder) { h.Part = Part{Writes: true} }),
			}},
		},
		"waiters": {
			own: own,
			wire: wire.State{Waiting: 9, Waiters: []wire.WaiterState{
				{ID: writes, Waited: time.Minute, Listening: true}, {ID: "no id", Waited: time.Second},
			}},
			want: State{Kind: holdfast.KindMutex, Waiting: 9, Waiters: []Waiter{
				{
					Owner: "me:1", Hash: keyspace.HashID(writes), Client: own, client: "client", Own: true,
					Waited: time.Minute, Listening: true, Part: Part{Writes: true},
				},
				{Hash: keyspace.HashID("no id"), Waited: time.Second},
			}},
		},
	} {
		test.wire.At, test.want.At, test.want.Name = at, at, "n"
		if len(test.want.Holders) > 0 {
			test.want.Holder = &test.want.Holders[0]
		}
		if got := newState("n", test.own, &test.wire); !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %+v of %+v, want %+v of %+v", name, *got, got.Holder, test.want, test.want.Holder)
		}
	}
}

func TestDescribe(t *testing.T) {
	details := &holdfast.Details{Host: "web1", PID: 7, Program: "billing"}
	for want, h := range map[string]Holder{
		"a client of another library":   {Foreign: true, Owner: "x"},
		"me":                            {Owner: "me"},
		"a process without a label":     {},
		"web1:7 (billing)":              {Owner: "web1:7", Details: details},
		"me (" + details.String() + ")": {Owner: "me", Details: details},
		"web1:7":                        {Owner: "web1:7", Details: &holdfast.Details{Host: "web1", PID: 7}},
	} {
		if got := h.Describe(); got != want {
			t.Errorf("%+v: got %q, want %q", h, got, want)
		}
	}
	if w := (Waiter{Owner: "me", Details: details}); w.Describe() != "me ("+details.String()+")" {
		t.Errorf("got %q, want me and its details", w.Describe())
	}
}

// What a Client wrote of its process may be anything.
func TestDecodeDetails(t *testing.T) {
	for name, reply := range map[string][]string{
		"nothing":   nil,
		"one":       {"details"},
		"another":   {"state", "{}"},
		"no JSON":   {"details", "{"},
		"a list":    {"details", "[]"},
		"too long":  {"details", `{"note":"` + strings.Repeat("x", 16*holdfast.MaxDetail) + `"}`},
		"not known": {"details", ""},
	} {
		if got, ok := decodeDetails(driver.Result{Reply: reply}); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got, ok := decodeDetails(driver.Result{Reply: []string{"details", "{}"}, Err: wire.ErrNoAnswer}); ok {
		t.Errorf("no answer: got %+v", got)
	}
	got, ok := decodeDetails(driver.Result{Reply: []string{"details", `{"host":"a\u001bb","pid":-1,"exported":["x"]}`}})
	if !ok || got.PID != 0 || strings.ContainsRune(got.Host, '\x1b') || len(got.Exported) != 1 {
		t.Errorf("got %+v, want it cleaned", got)
	}
	if got, ok := decodeDetails(driver.Result{Reply: []string{"details", `{"exported":["x"]}`}}); !ok || ofProcess(got) != nil {
		t.Errorf("got %+v, want no details", got)
	}
}

// One name asks about 256 Clients at most, and about each once.
func TestClientsOf(t *testing.T) {
	many := &State{Waiters: make([]Waiter, 300)}
	for i := range many.Waiters {
		many.Waiters[i].client = strings.Repeat("x", i+1)
	}
	one := &State{Holder: &Holder{client: "x"}, Waiters: []Waiter{{client: "y"}, {}, {client: "y"}}}
	both := &State{Holders: []Holder{{client: "z"}, {client: "y"}}}
	if got := len(clientsOf([]*State{many})); got != maxDetails {
		t.Errorf("got %d Clients, want %d", got, maxDetails)
	}
	if got, want := clientsOf([]*State{one, both}), []string{"x", "y", "z"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

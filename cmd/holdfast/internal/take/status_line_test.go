package take

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// waitingState is a name that ci-7 holds, with us behind the given number of waiters.
func waitingState(name string, before int, held time.Duration) *admin.State {
	state := &admin.State{Name: name, Kind: holdfast.KindMutex, Waiting: before + 1, Holder: &admin.Holder{
		Owner: "ci-7", TTL: 15 * time.Second, Remaining: 12 * time.Second, Held: held,
	}}
	for range before {
		state.Waiters = append(state.Waiters, admin.Waiter{Owner: "other"})
	}
	state.Waiters = append(state.Waiters, admin.Waiter{Owner: "us", Own: true})
	return state
}

func usually(d time.Duration) *connect.Usual {
	return &connect.Usual{Ask: func(context.Context, string) (time.Duration, bool) { return d, d > 0 }}
}

// The line begins with the place in the queue. So a narrow terminal and a long name cut
// off the holder, and never the place.
func TestWaitTextBeginsWithPlace(t *testing.T) {
	name := strings.Repeat("long", 40)
	text := waitText(name, waitingState(name, 3, time.Minute), true, nil, 12*time.Minute)
	var shown strings.Builder
	console.NewLines(&shown).Show(80, "waiting: "+text)
	got := strings.TrimPrefix(shown.String(), console.Erase)
	if want := "holdfast: waiting: 4th in the queue, about 12m; longlong"; !strings.HasPrefix(got, want) || len(got) != 79 {
		t.Errorf("an 80-column terminal shows %q (%d columns), want it to begin with %q and to have 79", got, len(got), want)
	}
}

// The estimate is the rest of this hold and a usual hold for each waiter before us.
func TestWaitEstimate(t *testing.T) {
	shared := waitingState("job", 1, time.Minute)
	shared.Kind = holdfast.KindSemaphore
	election := waitingState("job", 1, time.Minute)
	election.Term = 7
	foreign := waitingState("job", 1, 0)
	foreign.Holder.Foreign = true
	endless := waitingState("job", 1, time.Minute)
	endless.Holder.Remaining = -time.Millisecond
	cooldown := waitingState("job", 1, time.Minute)
	cooldown.Holder.Cooldown = true
	forever := waitingState("job", 1, time.Minute)
	forever.Holder.Cooldown, forever.Holder.Remaining = true, -time.Millisecond
	for _, test := range []struct {
		what  string
		state *admin.State
		usual *connect.Usual
		want  time.Duration
	}{
		{"first in the queue", waitingState("job", 0, time.Minute), usually(5 * time.Minute), 4 * time.Minute},
		{"third in the queue", waitingState("job", 2, time.Minute), usually(5 * time.Minute), 14 * time.Minute},
		{"a hold that is longer than usual", waitingState("job", 1, time.Hour), usually(5 * time.Minute), 5 * time.Minute},
		{"a name that the journal does not know", waitingState("job", 1, time.Minute), usually(0), 0},
		{"a semaphore", shared, usually(5 * time.Minute), 0},
		{"a holder of another library", foreign, usually(5 * time.Minute), 0},
		{"a hold without an expiry", endless, usually(5 * time.Minute), 0},
		{"a cool-down", cooldown, usually(5 * time.Minute), 5*time.Minute + 12*time.Second},
		{"a cool-down without an expiry", forever, usually(5 * time.Minute), 0},
		{"an election", election, usually(5 * time.Minute), 0},
		{"no journal", waitingState("job", 1, time.Minute), nil, 0},
	} {
		if got := test.usual.Expected(test.state); got != test.want {
			t.Errorf("%s: expects %v, want %v", test.what, got, test.want)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		80 * time.Millisecond: "1s", 7400 * time.Millisecond: "7s", 94 * time.Second: "1m30s",
		4*time.Minute + 2*time.Second: "4m", 12*time.Minute + 40*time.Second: "13m", 127 * time.Minute: "2h10m",
	} {
		if got := roughly(d); got != want {
			t.Errorf("roughly(%v) = %q, want %q", d, got, want)
		}
	}
}

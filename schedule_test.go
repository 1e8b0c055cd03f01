package holdfast

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/script"
)

// While something is held the loop looks five times a second; who only waits lets the
// processor sleep, and who has just given back, too.
func TestWaitingWakesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := instant(time.Hour)
		s := newSchedule()
		sleeps := func(about string, want time.Duration) {
			t.Helper()
			if got := time.Until(s.until); got != want {
				t.Errorf("%s: sleeps %v, want %v", about, got, want)
			}
		}
		s.rest(now)
		sleeps("nothing to do", time.Hour)
		waits := &timer{index: -1}
		s.set(waits, now.add(time.Minute), now)
		sleeps("waiting", slowTick)
		s.held++
		s.set(waits, now.add(time.Minute), now)
		sleeps("granted", tick)
		now += instant(30 * time.Second)
		s.rest(now)
		sleeps("holding for long", tick)
		time.Sleep(tick / 2)
		s.relax(now)
		sleeps("one of two given back", tick/2)
		s.held--
		s.relax(now)
		sleeps("waiting again", slowTick)
		s.set(&timer{index: -1}, now.add(time.Second), now)
		sleeps("what is to be done sooner", time.Second)
		s.set(&timer{index: -1}, now.add(2*time.Second), now)
		sleeps("what is to be done later", time.Second)
	})
}

// quick is a store that grants at once.
type quick struct{ Store }

func (quick) Sharded() bool { return false }
func (quick) Eval(_ context.Context, call Call) ([]string, error) {
	if call.Script == script.Unlock {
		return []string{"released"}, nil
	}
	return []string{fmt.Sprintf("granted %d 64 0 1763700000 0", 2*1763700000*1000000)}, nil
}

// Who has given back what it had for a moment wakes up for nothing else.
func TestSleepsOnAfterAShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(quick{}, nil)
		defer func() { _ = client.Close() }()
		lease, err := client.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sleeps := func() time.Duration {
			client.mu.Lock()
			defer client.mu.Unlock()
			return time.Until(client.schedule.until)
		}
		if got := sleeps(); got > tick {
			t.Errorf("while it holds it sleeps %v, want %v at most", got, tick)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		if got := sleeps(); got < slowTick {
			t.Errorf("then it sleeps %v, want %v at least", got, slowTick)
		}
	})
}

// Whatever is held is counted, and nothing else.
func TestWhatIsHeldIsCounted(t *testing.T) {
	c := &core{past: memory{limit: 9}, given: memory{limit: 9}, tenures: map[string]*tenure{}, rested: map[string]instant{}}
	held := func(about string, want int) {
		t.Helper()
		if got := c.schedule.held; got != want {
			t.Errorf("%s: %d are held, want %d", about, got, want)
		}
	}
	tenure := func(id string, p phase) *tenure {
		t := &tenure{id: id, line: &line{c: c}}
		t.become(p)
		return t
	}
	first, second, third := tenure("1", holding), tenure("2", holding), tenure("3", queued)
	first.become(leaving)
	held("one is leaving", 1)
	c.end(first, 0)
	held("it has left", 1)
	c.end(third, 0)
	held("one that waited gave up", 1)
	c.end(second, 0)
	held("the other was lost", 0)
}

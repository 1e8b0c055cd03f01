package sim_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

// The rules of elections in docs/protocol.md.

// campaigns starts a candidate; its term comes by the channel.
func (s stage) campaigns(l *sim.Link, value string) <-chan hold {
	got := make(chan hold, 1)
	h := s.Watch.Called(l, "n")
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		lease, err := l.Client.Election("n").Campaign(ctx, value)
		if err != nil {
			if !l.Dead() {
				s.Watch.Broken("%s campaigns: %v", value, err)
			}
			return
		}
		s.Watch.Granted(h, lease)
		got <- hold{lease, h, s}
	}()
	time.Sleep(50 * time.Millisecond)
	return got
}

// leads is a term that comes soon.
func (s stage) leads(l *sim.Link, value string) hold {
	s.t.Helper()
	return s.soon(value+" leads", s.campaigns(l, value), time.Minute)
}

// diary is what an observer was told.
type diary struct {
	mu    sync.Mutex
	lines []string // a value, "none", or "error"
	terms []int64
	at    []time.Time
	stop  context.CancelFunc
	over  chan struct{}
}

// observes starts an observer on a process.
func (s stage) observes(l *sim.Link) *diary {
	ctx, cancel := context.WithCancel(context.Background())
	d := &diary{stop: cancel, over: make(chan struct{})}
	go func() {
		defer close(d.over)
		for leader, err := range l.Client.Election("n").Observe(ctx) {
			line := leader.Value
			switch {
			case err != nil:
				line = "error"
			case leader.None():
				line = "none"
			}
			d.mu.Lock()
			d.lines, d.terms, d.at = append(d.lines, line), append(d.terms, leader.Term), append(d.at, time.Now())
			d.mu.Unlock()
		}
	}()
	time.Sleep(50 * time.Millisecond)
	return d
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// wants checks what was told so far.
func (d *diary) wants(s stage, want ...string) {
	s.t.Helper()
	if got := d.read(); !slices.Equal(got, want) {
		s.t.Fatalf("the observer was told %q; want %q\n%s", got, want, s.History(200))
	}
}

// wantsWithin waits for that, at most for a while.
func (d *diary) wantsWithin(s stage, limit time.Duration, want ...string) {
	s.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end) && !slices.Equal(d.read(), want); {
		time.Sleep(time.Millisecond)
	}
	d.wants(s, want...)
}

// An observer is told of every change by announcement, with its term, at once and
// once; and of a resignation by whoever resigned.
func TestElectionIsAnnounced(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p1)
		d := s.observes(p2)
		defer d.stop()
		d.wants(s, "none")
		time.Sleep(5 * time.Second)
		a := s.leads(p0, "a")
		d.wantsWithin(s, 10*time.Millisecond, "none", "a")
		next := s.campaigns(p1, "b")
		a.release()
		b := s.soon("b", next, time.Second)
		d.wantsWithin(s, 10*time.Millisecond, "none", "a", "b")
		b.release()
		d.wantsWithin(s, 10*time.Millisecond, "none", "a", "b", "none")
		if want := []int64{0, a.Token(), b.Token(), 0}; !slices.Equal(d.terms, want) {
			t.Errorf("terms: got %d, want %d", d.terms, want)
		}
		if exists := s.Do("EXISTS", "holdfast/term:{"+sim.Prefix+"n}"); exists != int64(0) {
			t.Errorf("T is left behind: EXISTS = %v", exists)
		}
	})
}

// All announcements are lost. An observer sees what lasts all the same.
func TestLostAnnouncement(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "changed" })
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		s.subscribe(p0, p1)
		d := s.observes(p2)
		defer d.stop()
		time.Sleep(20 * time.Second)
		a := s.leads(p0, "a")
		d.wantsWithin(s, 16*time.Second, "none", "a")
		next := s.campaigns(p1, "b")
		time.Sleep(20 * time.Second)
		a.release()
		b := s.soon("b", next, time.Second)
		d.wantsWithin(s, 16*time.Second, "none", "a", "b")
		b.release()
		d.wantsWithin(s, 16*time.Second, "none", "a", "b", "none")
	})
}

// An announcement that runs late, when another leads, changes nothing: not what
// observers are told, and not the term of who leads.
func TestLateAnnouncement(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "election_announce" && step.Process == 0 {
				f.Again = 2 * time.Second
			}
		})
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		d := s.observes(p2)
		defer d.stop()
		s.leads(p0, "a").release()
		time.Sleep(50 * time.Millisecond)
		b := s.leads(p1, "b")
		time.Sleep(3 * time.Second)
		d.wants(s, "none", "a", "none", "b")
		leader, err := p2.Client.Election("n").Leader(t.Context())
		if err != nil || leader.Term != b.Token() || leader.Value != "b" {
			t.Errorf("Leader = %+v, %v; want b with term %d", leader, err, b.Token())
		}
		b.release()
	})
}

// The announcement of a term is lost on its way to Redis: it is repeated, and
// the leader does not wait for it for long.
func TestAnnouncementIsRepeated(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		s.on(func(step sim.Step, f *sim.Fate) { f.LoseOut = step.Kind == "election_announce" && step.N == 0 })
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		d := s.observes(p1)
		defer d.stop()
		began := time.Now()
		a := s.leads(p0, "a")
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("Campaign took %v", took)
		}
		time.Sleep(5 * time.Second)
		if leader, err := p1.Client.Election("n").Leader(t.Context()); err != nil || leader.Term != a.Token() {
			t.Errorf("Leader = %+v, %v; want term %d", leader, err, a.Token())
		}
		a.release()
	})
}

// A long term stays known: it is announced again before T expires, or is missed
// for long.
func TestLongTermStaysKnown(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 24*time.Hour)
		a := s.leads(p0, "a")
		time.Sleep(30 * time.Hour)
		s.Do("DEL", "holdfast/term:{"+sim.Prefix+"n}") // as a failover may
		time.Sleep(6 * time.Minute)
		if leader, err := p0.Client.Election("n").Leader(t.Context()); err != nil || leader.Term != a.Token() {
			t.Errorf("Leader = %+v, %v; want term %d", leader, err, a.Token())
		}
		a.release()
	})
}

// The leader dies. The next one leads at the end of the ttl, and the observer is
// told; where there is none, that nobody does.
func TestLeaderIsKilled(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1, p2 := s.process("p0", 3*time.Second), s.process("p1", 3*time.Second), s.process("p2", 3*time.Second)
		s.subscribe(p0, p1)
		a := s.leads(p0, "a")
		d := s.observes(p2)
		defer d.stop()
		next := s.campaigns(p1, "b")
		p0.Kill()
		s.Watch.Leaves(a.held)
		s.soon("b", next, 3200*time.Millisecond)
		d.wantsWithin(s, 10*time.Millisecond, "a", "b")
		p1.Kill()
		d.wantsWithin(s, 3200*time.Millisecond, "a", "b", "none")
	})
}

// The subscription of an observer breaks, and a change is announced before it is
// back. It is asked for at once then.
func TestObserverSubscribesAgain(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		slow := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if slow && step.Kind == "subscribe" {
				f.Out = 200 * time.Millisecond
			}
		})
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		d := s.observes(p1)
		defer d.stop()
		time.Sleep(5 * time.Second)
		s.Atomically(func() { slow = true })
		p1.Cut()
		time.Sleep(100 * time.Millisecond)
		a := s.leads(p0, "a")
		d.wantsWithin(s, 300*time.Millisecond, "none", "a")
		a.release()
	})
}

// The store is away for a while. The observer is told so once, and then who
// leads, though it is the same as before.
func TestObserverOutlivesAnOutage(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		a := s.leads(p0, "a")
		d := s.observes(p1)
		defer d.stop()
		s.Restart(false, 8*time.Second)
		d.wantsWithin(s, 3*time.Second, "a", "error", "a")
		go p1.Silence(10 * time.Second)
		d.wantsWithin(s, 25*time.Second, "a", "error", "a", "error", "a")
		a.release()
		d.stop()
		<-d.over
		p1.Client.Close()
	})
}

// Observe ends with its context, with break, and with its Client, and leaves no
// subscription behind.
func TestObserveEnds(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		one, two := s.observes(p0), s.observes(p0)
		one.stop()
		<-one.over
		if n := len(s.Do("PUBSUB", "CHANNELS", "*election*").([]any)); n != 1 {
			t.Errorf("%d channels while one observes; want 1", n)
		}
		two.stop()
		<-two.over
		for leader, err := range p1.Client.Election("n").Observe(t.Context()) {
			if err != nil || !leader.None() {
				t.Errorf("Observe: %+v, %v", leader, err)
			}
			break
		}
		time.Sleep(time.Second)
		if channels := s.Do("PUBSUB", "CHANNELS", "*election*").([]any); len(channels) > 0 {
			t.Errorf("channels when nobody observes: %v", channels)
		}
		last := s.observes(p0)
		_ = p0.Client.Close()
		<-last.over
		last.wants(s, "none", "error")
	})
}

// The Client of the leader is closed: that is announced, too.
func TestCloseResigns(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		a := s.leads(p0, "a")
		d := s.observes(p1)
		defer d.stop()
		time.Sleep(time.Second)
		s.Watch.Leaves(a.held)
		_ = p0.Client.Close()
		d.wantsWithin(s, 100*time.Millisecond, "a", "none")
	})
}

// In a Cluster two candidates of a process share a channel and have a subscription
// each. The times of a pushed grant are measured on one of them: a push that comes
// by the other, from a server whose clock is another, is not for it.
func TestPushesByAnotherSubscription(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		s.Shard()
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		holder := s.lock(p0, "n")
		first := s.campaigns(p1, "a")
		p1.Deafen() // a has a half-open connection to what was the master
		second := s.campaigns(p1, "b")
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "grant" {
				f.Out = time.Second
			}
			f.LoseOut = step.Kind == "renew" || step.Process == 1 && step.Kind == "lock"
		})
		s.Watch.Leaves(holder.held)
		s.StepBack(-5 * time.Second)
		_ = holder.Release()
		s.lookFor("n", 3*time.Second)
		s.on(func(sim.Step, *sim.Fate) {})
		for range 2 {
			var h hold
			select {
			case h = <-first:
			case h = <-second:
			case <-time.After(time.Minute):
				s.t.Fatal("a candidate never led")
			}
			s.Watch.Leaves(h.held)
			_ = h.Release()
		}
	})
}

// A Cluster is as good as a server: candidates of one process, announcements.
func TestElectionInACluster(t *testing.T) {
	play(t, func(_ *testing.T, s stage) {
		s.Shard()
		s.on(func(sim.Step, *sim.Fate) {})
		p0, p1, p2 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second), s.process("p2", 15*time.Second)
		d := s.observes(p2)
		defer d.stop()
		terms := []<-chan hold{s.campaigns(p0, "a"), s.campaigns(p0, "b"), s.campaigns(p1, "c")}
		told := []string{"none"}
		for i, want := range []string{"a", "b", "c"} {
			h := s.soon(want, terms[i], time.Second)
			told = append(told, want)
			d.wantsWithin(s, 10*time.Millisecond, told...)
			h.release()
		}
		d.wantsWithin(s, 10*time.Millisecond, append(told, "none")...)
		s.nothingLeft("n")
	})
}

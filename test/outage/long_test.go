//go:build unix

package outage_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// longFaults last. Who has a lease keeps it as long as its renewals are
// answered; a lock of a free name is given up after a ttl, with the server's word.
var longFaults = []struct {
	row, name, word string
	keeps           bool   // renewals go on
	or              string // what Lock may say instead
	begin, end      func(t *testing.T, s *scene, console *console)
}{
	{row: "OOM", name: "full memory", word: "OOM command not allowed", keeps: true,
		begin: func(t *testing.T, _ *scene, c *console) { c.do(t, "CONFIG SET maxmemory 1") },
		end:   func(t *testing.T, _ *scene, c *console) { c.do(t, "CONFIG SET maxmemory 0") }},
	{row: "MISCONF", name: "full disk", word: "MISCONF",
		begin: func(t *testing.T, s *scene, c *console) {
			m := s.holder.Mutex("released")
			m.TTL = time.Minute // else Release ends when the lock key has expired
			released, err := m.Lock(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			dump := filepath.Join(s.server.Dir(), "dump.rdb")
			if err := errors.Join(os.RemoveAll(dump), os.Mkdir(dump, 0o700)); err != nil { // no snapshot can have that name
				t.Fatal(err)
			}
			c.do(t, "CONFIG SET save \"3600 1\"")
			c.do(t, "BGSAVE")
			clienttest.Eventually(t, "the server says MISCONF", func() bool {
				_, err := s.server.Do("SET", "x", "1")
				return err != nil && strings.HasPrefix(err.Error(), "MISCONF ")
			})
			began := time.Now()
			if err := released.Release(); !errors.Is(err, holdfast.ErrUnknown) || time.Since(began) < 1500*time.Millisecond {
				t.Errorf("Release: got %v after %v, want ErrUnknown after 2 s", err, time.Since(began))
			}
		},
		end: func(t *testing.T, s *scene, c *console) {
			if err := os.Remove(filepath.Join(s.server.Dir(), "dump.rdb")); err != nil {
				t.Fatal(err)
			}
			c.do(t, "CONFIG SET stop-writes-on-bgsave-error no")
		}},
	// Once a second the driver leaves its connections. The newest attempt may have too little time left on a new one: "timeout", "in time".
	{row: "READONLY", name: "read-only", word: "READONLY", or: "time",
		begin: func(t *testing.T, _ *scene, c *console) { c.do(t, "REPLICAOF 127.0.0.1 1") },
		end:   func(t *testing.T, _ *scene, c *console) { c.do(t, "REPLICAOF NO ONE") }},
	{row: "server restarted, without its data", name: "stopped", word: "",
		begin: func(_ *testing.T, s *scene, _ *console) { s.server.Kill() },
		end: func(t *testing.T, s *scene, _ *console) {
			if err := s.server.Restart(true); err != nil {
				t.Fatal(err)
			}
		}},
}

// longOutages: what lasts longer than a ttl is told, as ErrUnreachable after a ttl
// and never as ErrHeld. When it is over all works again by itself.
func longOutages() (all []subtest) {
	const ttl = 2 * time.Second
	for _, f := range longFaults {
		for _, d := range clienttest.Drivers {
			all = append(all, subtest{"long/" + f.name + " " + d.Name, func(t *testing.T) {
				documented(t, f.row)
				s := stage(t, d, ttl, redistest.Options{})
				console := newConsole(t, s.server)
				f.begin(t, s, console)
				s.unreachable(t, s.holder, ttl, f.word, cmp.Or(f.or, f.word))
				if f.keeps {
					if err := s.lease.Err(); err != nil {
						t.Errorf("the lease: got %v, want it kept", err)
					}
				} else {
					clienttest.Closed(t, "the lease's channel", s.lease.Done())
					clienttest.LostBy(t, s.lease.Err(), holdfast.Expired)
				}
				f.end(t, s, console)
				s.works(t, s.holder, s.waiter)
				if f.keeps {
					clienttest.GiveBack(t, s.lease)
					clienttest.GiveBack(t, s.waiting.Lease(t))
				}
			}})
		}
	}
	return all
}

// noRoom: with no room for a new connection a Client that has one goes on. One that
// waits without a subscription asks again and again, and gets the name when it is free.
func noRoom() (all []subtest) {
	const ttl = 2 * time.Second
	for _, d := range clienttest.Drivers {
		all = append(all, subtest{"long/too many clients " + d.Name, func(t *testing.T) {
			documented(t, "maximum clients reached")
			s := stage(t, d, ttl, redistest.Options{})
			third := s.client(t, "C", ttl)
			s.works(t, third) // it has a connection, but never waited
			console := newConsole(t, s.server)
			full(t, s, console)
			clienttest.GiveBack(t, s.lease)
			next := s.waiting.Lease(t)
			without := clienttest.Asking(context.Background(), third.Mutex(contended))
			time.Sleep(2 * ttl) // a Client that no command reaches would have given up
			if !without.Pending() {
				t.Error("the wait without a subscription was given up")
			}
			if err := next.Err(); err != nil {
				t.Errorf("the lease: got %v, want it kept", err)
			}
			clienttest.GiveBack(t, next)
			clienttest.GiveBack(t, without.Lease(t))
			console.do(t, "CONFIG SET maxclients 10000")
			s.works(t, s.holder, s.waiter, third)
		}})
	}
	return all
}

// networkAway: the network is away for 30 s. The lease ends by its deadline, the
// wait is given up after a ttl, and all works again soon after the network is back.
func networkAway() (all []subtest) {
	const ttl, length = 5 * time.Second, 30 * time.Second
	for name, how := range map[string]func(*redistest.Proxy){"refused": (*redistest.Proxy).Refuse, "silent": (*redistest.Proxy).Hold} {
		for _, d := range clienttest.Drivers {
			all = append(all, subtest{"long/" + name + " 30 s " + d.Name, func(t *testing.T) {
				documented(t, "no network for longer than a TTL")
				s := stage(t, d, ttl, redistest.Options{})
				ctx := s.lease.Context(context.Background())
				how(s.network)
				began := time.Now()
				clienttest.Closed(t, "the lease's context", ctx.Done())
				clienttest.LostBy(t, context.Cause(ctx), holdfast.Expired)
				if got := time.Since(began); got > ttl+clienttest.Slack {
					t.Errorf("the holder learned of the loss after %v", got)
				}
				s.waiting.Refused(t, holdfast.ErrUnreachable)
				s.unreachable(t, s.holder, ttl, "")
				for _, wait := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
					brief, cancel := context.WithTimeout(context.Background(), wait)
					_, err := s.waiter.Mutex("n").Lock(brief)
					cancel()
					if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, holdfast.ErrUnreachable) {
						t.Errorf("Lock with a deadline of %v: got %v, want its end and ErrUnreachable", wait, err)
					}
				}
				time.Sleep(time.Until(began.Add(length)))
				s.network.Pass()
				s.works(t, s.holder, s.waiter)
				if err := s.lease.Release(); !errors.Is(err, holdfast.ErrLost) {
					t.Errorf("Release of the lost lease: got %v, want ErrLost", err)
				}
			}})
		}
	}
	return all
}

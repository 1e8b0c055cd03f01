package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/sim"
)

// stuck is a log handler that never returns.
type stuck struct {
	slog.Handler
	asked, never chan struct{}
}

func (h stuck) Handle(context.Context, slog.Record) error {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	<-h.never
	return nil
}

// A log handler that blocks, as with a full pipe, stops no lock.
func TestLoggerCanNotBlock(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		h := stuck{slog.Default().Handler(), make(chan struct{}, 1), make(chan struct{})}
		defer close(h.never)
		p0 := s.Process("p0", holdfast.Options{TTL: 15 * time.Second, Logger: slog.New(h)}, 1)
		s.subscribe(p0)
		refused := false
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "cancel" && !refused {
				refused, f.Refuse = true, "NOPERM no right" // logged: nobody is left to return it to
			}
		})
		holder := s.lock(s.process("p1", 15*time.Second), "n")
		s.giveUp(p0, "n", 100*time.Millisecond)
		<-h.asked
		s.lock(p0, "m").release()
		holder.release()
	})
}

// Dead waiters in front of a living one, behind a dead holder, cost it next to
// nothing.
func TestDeadWaitersInFront(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		holder := s.process("p0", 2*time.Second)
		s.lock(holder, "n")
		var dead []*sim.Link
		for i := range 5 {
			l := s.process(fmt.Sprint("dead", i), 15*time.Second)
			s.waits(l, "n")
			dead = append(dead, l)
		}
		next := s.waits(s.process("p1", 15*time.Second), "n")
		for _, l := range append(dead, holder) {
			l.Kill()
		}
		s.soon("who stands behind the dead", next, 2600*time.Millisecond).release()
	})
}

// A grant that somebody forges may not name a life longer than any claim window.
func TestForgedGrantIsShort(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0, p1 := s.process("p0", 15*time.Second), s.process("p1", 15*time.Second)
		id := ""
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Process == 1 && step.Kind == "lock" {
				id = step.ID
			}
			f.LoseOut = step.Process == 1 && step.Kind == "renew"
		})
		holder := s.lock(p0, "n")
		got := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() {
			_, err := p1.Client.Mutex("n").Lock(ctx)
			got <- err
		}()
		time.Sleep(50 * time.Millisecond)
		s.Guard(func() {
			client, _, _ := strings.Cut(id, ".")
			s.Do("PUBLISH", "holdfast/push:"+client, "grant 9000000000063 64 0 "+itoa(time.Now().Unix())+" 0 3600000 "+id)
		})
		if err := <-got; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock = %v; want the push dropped", err)
		}
		holder.release()
	})
}

//go:build linux

package main

import (
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// fault hits somebody, lasts a moment and is healed when it returns.
type fault struct {
	name   string
	weight int
	strike func(*stage, *rand.Rand) error
}

func moment(random *rand.Rand, longest time.Duration) {
	time.Sleep(time.Duration(random.Int64N(int64(longest))))
}

// onProxy does something to the way of one process, and undoes it.
func onProxy(begin func(*redistest.Proxy), longest time.Duration) func(*stage, *rand.Rand) error {
	return func(s *stage, random *rand.Rand) error {
		proxy := s.members[random.IntN(len(s.members))].proxy
		begin(proxy)
		moment(random, longest)
		proxy.Delay(0)
		proxy.Pass()
		return nil
	}
}

func command(args ...any) func(*stage, *rand.Rand) error {
	return func(s *stage, _ *rand.Rand) error {
		_, err := s.do(args...)
		return err
	}
}

// faults are all of them. The server loses nothing: its file is synced by each
// write.
var faults = []fault{
	{"stall", 4, onProxy((*redistest.Proxy).Stall, 5*time.Second)},
	{"black hole", 4, onProxy((*redistest.Proxy).Hold, 5*time.Second)},
	{"answers held", 4, onProxy((*redistest.Proxy).HoldReplies, 5*time.Second)},
	{"refused", 4, onProxy((*redistest.Proxy).Refuse, 2*time.Second)},
	{"cut", 6, onProxy((*redistest.Proxy).Cut, time.Millisecond)},
	{"answer lost", 6, onProxy(func(p *redistest.Proxy) { p.LoseReply(3) }, time.Second)},
	{"slow", 4, onProxy(func(p *redistest.Proxy) { p.Delay(20 * time.Millisecond) }, 3*time.Second)},
	{"connections killed", 3, command("CLIENT", "KILL", "TYPE", "normal")},
	{"subscriptions killed", 3, command("CLIENT", "KILL", "TYPE", "pubsub")},
	{"paused", 3, command("CLIENT", "PAUSE", "400")},
	{"scripts flushed", 3, command("SCRIPT", "FLUSH")},
	{"server frozen", 2, func(s *stage, random *rand.Rand) error {
		if err := s.server.Freeze(); err != nil {
			return err
		}
		moment(random, 2*time.Second)
		return s.server.Thaw()
	}},
	{"server killed", 1, func(s *stage, random *rand.Rand) error {
		s.server.Kill()
		moment(random, time.Second)
		return s.server.Restart(false)
	}},
	{"process frozen", 4, func(s *stage, random *rand.Rand) error {
		m := s.members[random.IntN(len(s.members))]
		if err := m.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		moment(random, s.plan.TTL*3/2)
		return m.Signal(syscall.SIGCONT)
	}},
	{"process killed", 2, func(s *stage, random *rand.Rand) error {
		i := random.IntN(mortal)
		s.dead(s.members[i])
		return s.begin(i)
	}},
}

func draw(random *rand.Rand) *fault {
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	n := random.IntN(sum)
	for i := range faults {
		if n -= faults[i].weight; n < 0 {
			return &faults[i]
		}
	}
	return nil
}

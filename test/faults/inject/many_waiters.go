//go:build linux

package inject

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

// Shape says what the processes of a history are and what they want, where that is not drawn:
// all want one name.
type Shape struct {
	Members int
	Clients int // of all members together; each has a caller
	Callers int // of each Client; 0: one
	Kinds   []history.Kind
	Mix     client.Mix
	Others  client.Mix    // of all but the first member; the zero Mix: theirs is Mix, too
	Length  time.Duration // that faults hit for at least
}

// brief is a load that does not fill the machine however many wait.
var brief = client.Mix{Work: 5 * time.Millisecond}

func manyWaiters(clients int) *Shape {
	return &Shape{Members: 5, Clients: clients, Kinds: []history.Kind{history.Mutex}, Mix: brief, Length: time.Second}
}

// flushed is many waiters, most of which ask once in a while: else those that have looked again would
// keep the name from being idle.
var flushed = &Shape{
	Members: 5, Clients: 50, Kinds: []history.Kind{history.Mutex},
	Mix: client.Mix{Work: 50 * time.Millisecond, Rest: 20 * time.Second}, Length: time.Second,
}

var alone = []topology.Kind{topology.Standalone}

// ofManyWaiters hit many waiters, or one among others that never rest.
var ofManyWaiters = []Fault{
	{Name: "waiters50-killed", Topologies: alone, Calm: true, Once: true, TTL: 2 * time.Second, Shape: manyWaiters(50), Strike: killMost, Lasts: seconds(8)},
	{Name: "waiters200-killed", Topologies: alone, Calm: true, Once: true, TTL: 2 * time.Second, Shape: manyWaiters(200), Strike: killMost, Lasts: seconds(14)},
	{Name: "waiters50-flushed", Topologies: alone, Calm: true, Once: true, Loses: true, TTL: 2 * time.Second, Shape: flushed, Strike: command("FLUSHALL"), Lasts: seconds(12)},
	{
		Name: "waiters-frozen", Topologies: alone, Calm: true, Once: true, TTL: 4 * time.Second,
		Shape: &Shape{
			Members: 3, Clients: 3, Callers: 10, Mix: brief, Length: time.Second,
			Kinds: []history.Kind{history.Mutex, history.RWMutex, history.Semaphore, history.Election},
		},
		Strike: func(s *Scene) (string, func() error, error) {
			i := s.Random.IntN(s.Workers.Size())
			if !s.Workers.Freeze(i, client.Anywhere) {
				return "", nil, nil
			}
			return s.Workers.Name(i), func() error { s.Workers.Thaw(i); return nil }, nil
		},
		Lasts: seconds(15),
	},
	{
		Name: "busy", Topologies: []topology.Kind{topology.Quorum3, topology.Standalone}, Calm: true, TTL: 4 * time.Second,
		Shape: &Shape{
			Members: 2, Clients: 2, Kinds: nil, Length: 20 * time.Second,
			Mix: client.Mix{Work: 200 * time.Millisecond}, Others: client.Mix{Work: 5 * time.Millisecond, Rest: time.Second},
		},
		Strike: func(*Scene) (string, func() error, error) { return "", nil, nil },
	},
}

// killMost kills all processes at once, or all but one, and starts two others at once: these
// stand behind the dead. The rest are replaced later.
func killMost(s *Scene) (hit string, heal func() error, err error) {
	dead := s.Random.Perm(s.Workers.Size())[s.Random.IntN(2):]
	for _, i := range dead {
		hit += " " + s.Workers.Name(i)
		if !s.Workers.Kill(i, client.Anywhere) {
			return hit, nil, fmt.Errorf("%s is not to be killed", s.Workers.Name(i))
		}
	}
	s.Workers.Replace(dead[0])
	s.Workers.Replace(dead[1])
	return hit, func() error {
		for _, i := range dead[2:] {
			s.Workers.Replace(i)
		}
		return nil
	}, nil
}

func seconds(n int) func(*Scene) time.Duration {
	return func(*Scene) time.Duration { return time.Duration(n) * time.Second }
}

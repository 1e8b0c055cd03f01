//go:build linux

package inject

import (
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
)

// ofClients hit one process, at an exact step.
var ofClients = []Fault{
	{
		Name: "client-frozen", Calm: true, Steps: client.Steps,
		Strike: func(s *Scene) (string, func() error, error) {
			i := s.Random.IntN(s.Workers.Size())
			if !s.Workers.Freeze(i, s.Step) {
				return "", nil, nil
			}
			return s.Workers.Name(i), func() error { s.Workers.Thaw(i); return nil }, nil
		},
		Lasts: func(s *Scene) time.Duration { // as a rule for longer than it may
			if s.Random.IntN(3) == 0 {
				return s.upTo(s.TTL)
			}
			return s.TTL + s.upTo(s.TTL/2)
		},
	},
	{
		Name: "client-killed", Calm: true, Steps: client.Steps,
		Strike: func(s *Scene) (string, func() error, error) {
			i := s.Random.IntN(s.Workers.Size())
			name := s.Workers.Name(i)
			if !s.Workers.Kill(i, s.Step) {
				return "", nil, nil
			}
			return name, func() error { s.Workers.Replace(i); return nil }, nil
		},
		Lasts: func(s *Scene) time.Duration { return s.upTo(s.TTL / 4) },
	},
}

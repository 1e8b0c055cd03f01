package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/sim"
)

func (s stage) giveUpLater2(l *sim.Link, name string) {
	go func() { _, _ = l.Client.Mutex(name).Lock(context.Background()) }()
	time.Sleep(50 * time.Millisecond)
}

// One name is refused for good; what else is under way is undone all the same.
func TestCloseAfterARefusal(t *testing.T) {
	play(t, func(t *testing.T, s stage) {
		p0 := s.process("p0", 10*time.Minute)
		s.lock(p0, "bad")
		_, _, q := sim.Keys("bad")
		s.Do("SET", q, "a string")
		s.on(func(step sim.Step, f *sim.Fate) {
			if step.Kind == "lock" {
				f.Out = 300 * time.Millisecond
			}
		})
		s.giveUpLater2(p0, "n")
		t.Log(p0.Client.Close())
		time.Sleep(time.Second)
		s.nothingLeft("n")
	})
}

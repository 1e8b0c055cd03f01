//go:build unix

package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Another program has put a member into the queue whose score no clock gives. Waiters
// have arrivals by the clock all the same, one after the other.
func TestForeignScoreIsNoArrival(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, score := range []string{"1e300", "inf"} {
		for _, way := range []struct {
			name, kind string
			script     *driver.Script
			keys       int
			args       []any
		}{
			{"lock", "", script.Lock, 3, []any{"c.new.5000|o", "wait", "0", ""}},
			{"unlock", "", script.Unlock, 3, []any{"c.held.5000|o", "", "c.new.5000|o"}},
			{"cooldown", "", script.Cooldown, 3, []any{"c.held.5000|o", "60000", "o", "", "c.new.5000|o"}},
			{"shared_lock", ".s1", script.SharedLock, 4, []any{"c.new.5000.s1|o", "1", "wait", "0", ""}},
		} {
			t.Run(way.name+" "+score, func(t *testing.T) {
				server.MustDo(t, "FLUSHALL")
				if way.kind == "" {
					server.MustDo(t, "SET", "L", "c.held.5000|o", "PX", 60_000)
				} else {
					server.MustDo(t, "SET", "L", "another program's", "PX", 60_000)
				}
				waiting := "d.waits.5000" + way.kind + "|o"
				server.MustDo(t, "ZADD", "Q", score, "e.foreign.5000"+way.kind+"|x", 5, waiting)
				keys := []any{"L", "F", "Q", "H"}[:way.keys]
				args := append([]any{"EVAL", way.script.Source, way.keys}, keys...)
				server.MustDo(t, append(args, way.args...)...)
				left := fmt.Sprint(server.MustDo(t, "ZRANGE", "Q", 0, "(9e15", "BYSCORE"))
				if way.name == "unlock" && strings.Contains(fmt.Sprint(server.MustDo(t, "GET", "L")), "c.new") {
					return // nobody lives but it
				}
				if !strings.Contains(left, "c.new.5000"+way.kind+"|o") {
					t.Errorf("by the clock came %s; want c.new among them", left)
				}
			})
		}
	}
}

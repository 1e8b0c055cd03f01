//go:build unix

package outage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// shortFaults are over before a ttl of 15 s is: nobody hears of them. Each has a
// row in docs/guide/08-operating.md.
var shortFaults = []struct {
	row, name string
	options   redistest.Options
	fault     func(t *testing.T, s *scene)
}{
	{row: "server restarted, with its data", name: "restart", options: redistest.Options{AOF: true}, fault: func(t *testing.T, s *scene) {
		s.server.Kill()
		time.Sleep(time.Second)
		if err := s.server.Restart(false); err != nil {
			t.Error(err)
		}
	}},
	{row: "", name: "killed", fault: func(t *testing.T, s *scene) {
		for range 3 {
			s.server.MustDo(t, "CLIENT", "KILL", "TYPE", "normal")
			s.server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub")
			time.Sleep(100 * time.Millisecond)
		}
	}},
	{row: "only the subscription killed", name: "subscription", fault: func(t *testing.T, s *scene) {
		if got := s.server.MustDo(t, "CLIENT", "KILL", "TYPE", "pubsub"); got == "0" {
			t.Error("there was no subscription to kill")
		}
	}},
	{row: "", name: "refused 1 s", fault: away((*redistest.Proxy).Refuse, time.Second)},
	{row: "", name: "silent 1 s", fault: away((*redistest.Proxy).Hold, time.Second)},
	{row: "", name: "refused 5 s", fault: away((*redistest.Proxy).Refuse, 5*time.Second)},
	{row: "", name: "silent 5 s", fault: away((*redistest.Proxy).Hold, 5*time.Second)},
	{row: "LOADING", name: "loading", options: redistest.Options{AOF: true, Config: []string{"key-load-delay 1000"}}, fault: loading},
	{row: "BUSY", name: "busy", options: redistest.Options{Config: []string{"lua-time-limit 50"}}, fault: func(t *testing.T, s *scene) {
		endless := newConsole(t, s.server)
		endless.send(t, `EVAL "while true do end" 0`)
		clienttest.Eventually(t, "the server says BUSY", func() bool {
			_, err := s.server.Do("GET", "x")
			return err != nil && strings.HasPrefix(err.Error(), "BUSY ")
		})
		time.Sleep(2 * time.Second)
		s.server.MustDo(t, "SCRIPT", "KILL")
	}},
	{row: "READONLY", name: "read-only", fault: func(t *testing.T, s *scene) {
		s.server.MustDo(t, "REPLICAOF", "127.0.0.1", "1") // where no master is
		time.Sleep(2 * time.Second)
		s.server.MustDo(t, "REPLICAOF", "NO", "ONE")
	}},
	{row: "OOM", name: "full memory", fault: func(t *testing.T, s *scene) {
		s.server.MustDo(t, "CONFIG", "SET", "maxmemory", "1")
		time.Sleep(time.Second)
		s.server.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
	}},
	{row: "maximum clients reached", name: "too many clients", fault: func(t *testing.T, s *scene) {
		console := newConsole(t, s.server)
		full(t, s, console)
		console.do(t, "CLIENT KILL TYPE pubsub")
		time.Sleep(2 * time.Second)
		console.do(t, "CONFIG SET maxclients 10000")
	}},
}

// away is a network that is so for a time.
func away(how func(*redistest.Proxy), length time.Duration) func(t *testing.T, s *scene) {
	return func(_ *testing.T, s *scene) {
		how(s.network)
		time.Sleep(length)
		s.network.Pass()
	}
}

// full lets no new connection in. The server says so and closes the connection;
// which of the two the client sees first is chance.
func full(t *testing.T, s *scene, console *console) {
	t.Helper()
	console.do(t, "CONFIG SET maxclients 1")
	store, err := s.driver.Try(s.server.URL(), clienttest.Way{})
	if err == nil {
		_ = store.Close()
		t.Error("a new connection was let in")
		return
	}
	for _, word := range []string{"max number of clients reached", "EOF", "reset", "broken pipe"} {
		if strings.Contains(err.Error(), word) {
			return
		}
	}
	t.Errorf("a new connection: got %v, want max number of clients reached", err)
}

// loading restarts a server that takes three seconds to read its data.
func loading(t *testing.T, s *scene) {
	fill := "for i = 1, 3000 do redis.call('SET', 'k' .. i, i) end"
	s.server.MustDo(t, "EVAL", fill, 0)
	said := make(chan bool, 1)
	stop := make(chan struct{})
	s.server.Kill()
	go func() {
		heard := false
		for {
			select {
			case <-stop:
				said <- heard
				return
			case <-time.After(10 * time.Millisecond):
				_, err := s.server.Do("GET", "x")
				heard = heard || err != nil && strings.HasPrefix(err.Error(), "LOADING ")
			}
		}
	}()
	if err := s.server.Restart(false); err != nil {
		t.Error(err)
	}
	close(stop)
	if !<-said {
		t.Error("the server never said LOADING")
	}
}

// shortOutages: a fault that is over before a ttl is costs time and nothing else,
// whichever driver is used: no lease is lost, no wait ends, no place is lost.
func shortOutages() (all []subtest) {
	for _, f := range shortFaults {
		for _, d := range clienttest.Drivers {
			all = append(all, subtest{"short/" + f.name + " " + d.Name, func(t *testing.T) {
				if f.row != "" { // the page names those that a program notices
					documented(t, f.row)
				}
				s := stage(t, d, holdfast.DefaultTTL, f.options)
				s.unnoticed(t, func() { f.fault(t, s) })
			}})
		}
	}
	return all
}

//go:build unix

package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Another program has put ids before the waiters that no script can make a holder: their ttl is 0 or
// has 30 digits, or they are too long. Its channel has a listener. They get nothing, leave the queue
// and make no script fail.
func TestForeignIDIsNoWaiter(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	listenOn(t, server, "holdfast/push:d", "holdfast/push:e")
	for what, id := range map[string]string{
		"ttl 0": "e.n.0KIND|x", "30 digits": "e.n." + strings.Repeat("9", 30) + "KIND|x", "too long": "e.n.5000KIND|" + strings.Repeat("x", 1024),
	} {
		for _, way := range []struct {
			name, kind, want string
			script           *driver.Script
			args             []any
		}{
			{"lock", "", "c.new.5000|o", script.Lock, []any{"c.new.5000|o", "try", "0", ""}},
			{"unlock", "", "d.waits.5000|o", script.Unlock, []any{"c.held.5000|o"}},
			{"cancel", "", "d.waits.5000|o", script.Cancel, []any{"c.held.5000|o", ""}},
			{"shared_unlock", ".s1", "d.waits.5000.s1|o", script.SharedUnlock, []any{"c.held.5000.s1|o"}},
		} {
			t.Run(way.name+" "+what, func(t *testing.T) {
				id, keys := strings.ReplaceAll(id, "KIND", way.kind), []any{"L", "F", "Q"}
				server.MustDo(t, "FLUSHALL")
				server.MustDo(t, "ZADD", "Q", 1, id)
				if way.name != "lock" {
					server.MustDo(t, "ZADD", "Q", 5, "d.waits.5000"+way.kind+"|o")
				}
				switch {
				case way.kind != "":
					keys = append(keys, "H")
					server.MustDo(t, "HSET", "L", "kind", "semaphore", "capacity", 1)
					server.MustDo(t, "ZADD", "H", (1<<52)+time.Now().Add(time.Minute).UnixMicro(), "c.held.5000.s1|o")
				case way.name != "lock":
					server.MustDo(t, "SET", "L", "c.held.5000|o")
				}
				answer := server.MustDo(t, append(append([]any{"EVAL", way.script.Source, len(keys)}, keys...), way.args...)...)
				got := server.MustDo(t, "EVAL", "return redis.call('TYPE', 'L').ok == 'hash' and redis.call('ZRANGE', 'H', 0, -1)[1] or redis.call('GET', 'L')", 0)
				if fmt.Sprint(got) != way.want {
					t.Errorf("got holder %.100s, want %s; %s answered %.100s", got, way.want, way.name, answer)
				}
				if left := server.MustDo(t, "ZCARD", "Q"); fmt.Sprint(left) != "0" {
					t.Errorf("%v are left in the queue, want none", left)
				}
			})
		}
	}
}

// The value of another program that is nearly an id is none for clients, as for scripts: Mutex.Steal
// changes nothing. A script could not write its ttl after it has taken the name.
func TestForeignIDIsNotStolen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{TTL: clienttest.Long})
	for _, value := range []string{"f.n.007|x", "f.n.1234567890|x"} {
		server.MustDo(t, "SET", clienttest.LockKey("n"), value)
		if _, err := client.Mutex("n").Steal(t.Context(), keyspace.HashID(value), "why"); !errors.Is(err, holdfast.ErrTenure) {
			t.Errorf("%s: got %v, want ErrTenure", value, err)
		}
		if got := server.MustDo(t, "GET", clienttest.LockKey("n")); got != value {
			t.Errorf("%s: the holder is %v", value, got)
		}
	}
}

// listenOn subscribes to channels until the end of the test.
func listenOn(t *testing.T, server *redistest.Server, channels ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "SUBSCRIBE %s\r\n", strings.Join(channels, " "))
	answers := bufio.NewReader(conn)
	for range 6 * len(channels) {
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// A script does not read a member, field or entry that is far longer than ours, nor more of them than
// it can read in some milliseconds, and does not answer long texts.
func TestHugeMembersAreNotRead(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	const huge, most = "string.rep('x', 2^21)", "for i = ARGV[1], ARGV[1] + 999 do "
	for _, way := range []struct {
		name   string
		script *driver.Script
		keys   []any
		args   []any
		lua    string // what another program does
		many   int    // with how many numbers; 0: once
		want   string
	}{
		{"waiter", script.Inspect, []any{"L", "F", "Q"}, []any{"10", ""}, "redis.call('ZADD', 'Q', 1, " + huge + ")", 0, "too long"},
		{"waiters", script.Inspect, []any{"L", "F", "Q"}, []any{"10", ""}, most + "redis.call('ZADD', 'Q', i, 'c.' .. i .. '.5000|o') end", 100_001, ""},
		{"long waiter", script.Inspect, []any{"L", "F", "Q"}, []any{"10", ""}, "redis.call('ZADD', 'Q', 1, string.rep('x', 9999))", 0, ""},
		{"value", script.Inspect, []any{"L", "F", "Q"}, []any{"10", ""}, "redis.call('SET', 'L', string.rep('x', 9999))", 0, ""},
		{"shared waiter", script.SharedInspect, []any{"L", "F", "Q", "H"}, []any{"10", ""}, "redis.call('ZADD', 'Q', 1, " + huge + ")", 0, "too long"},
		{"holder", script.SharedInspect, []any{"L", "F", "Q", "H"}, []any{"10", ""}, "redis.call('ZADD', 'H', '4e15', " + huge + ")", 0, "too long"},
		{"long holder", script.SharedInspect, []any{"L", "F", "Q", "H"}, []any{"10", ""}, "redis.call('ZADD', 'H', '4e15', 'c.n.5000.s2|' .. string.rep('x', 9999))", 0, ""},
		{"holders", script.SharedInspect, []any{"L", "F", "Q", "H"}, []any{"10", ""}, most + "redis.call('ZADD', 'H', '4e15', i) end", 100_001, "too many holders"},
		{"holders of a lock", script.SharedLock, []any{"L", "F", "Q", "H"}, []any{"c.new.5000.s1|o", "900000", "try", "0", ""}, most + "redis.call('ZADD', 'H', '4e15', i .. '.n.5000.s2|o') end", 100_001, "too many holders"},
		{"kind", script.SharedInspect, []any{"L", "F", "Q", "H"}, []any{"10", ""}, "redis.call('HSET', 'L', 'kind', string.rep('x', 9999))", 0, "another program"},
		{"kind of a lock", script.SharedLock, []any{"L", "F", "Q", "H"}, []any{"c.new.5000.s1|o", "2", "try", "0", ""}, "redis.call('HSET', 'L', 'kind', string.rep('x', 9999))", 0, "another program"},
		{"kind of a mutex", script.Lock, []any{"L", "F", "Q"}, []any{"c.new.5000|o"}, "redis.call('HSET', 'L', 'kind', string.rep('x', 9999))", 0, "WRONGTYPE"},
		{"job", script.JobList, []any{"J"}, nil, "redis.call('HSET', 'J', 'x', " + huge + ")", 0, "too long"},
		{"long job", script.JobList, []any{"J"}, nil, "redis.call('HSET', 'J', 'x', string.rep('x', 9999))", 0, ""},
		{"jobs", script.JobList, []any{"J"}, nil, most + "redis.call('HSET', 'J', i, i) end", 10_001, "too many fields"},
		{"sum", script.JournalSums, []any{"S"}, nil, "redis.call('HSET', 'S', '1', " + huge + ")", 0, "too long"},
		{"sums", script.JournalSums, []any{"S"}, nil, most + "redis.call('HSET', 'S', i, i) end", 10_001, "too many fields"},
		{"entry", script.JournalRead, []any{"E"}, []any{"-", "+", "back", "500", "", "", ""}, "redis.call('XADD', 'E', '*', 'name', 'n', 'more', " + huge + ")", 0, "too long"},
		{"long entry", script.JournalRead, []any{"E"}, []any{"-", "+", "back", "500", "", "", ""}, "redis.call('XADD', 'E', '*', 'name', 'n', 'more', string.rep('x', 9999))", 0, ""},
		{"details", script.DetailsInspect, []any{"D"}, nil, "redis.call('SET', 'D', " + huge + ")", 0, ""},
		{"name", driver.ScanPage, nil, []any{"0", "*", "512"}, "redis.call('SET', string.rep('x', 9999), 1)", 0, ""},
	} {
		t.Run(way.name, func(t *testing.T) {
			server.MustDo(t, "FLUSHALL")
			for from := 1; from == 1 || from <= way.many; from += 1000 {
				server.MustDo(t, "EVAL", way.lua, 0, from)
			}
			server.MustDo(t, "CONFIG", "RESETSTAT")
			answer, err := server.Do(append(append([]any{"EVAL", way.script.Source, len(way.keys)}, way.keys...), way.args...)...)
			said := answer + fmt.Sprint(err)
			if way.want != "" && !strings.Contains(said, way.want) {
				t.Errorf("got %.200s, want %q", said, way.want)
			}
			if calls, err := server.CommandStats(); err != nil || way.name == "kind" && calls["hmget"] > 0 {
				t.Errorf("the fields of the lock key were read: %v, %v", calls, err)
			}
			if len(said) > 5000 {
				t.Errorf("an answer of %d bytes, want 5,000 at most", len(said))
			}
		})
	}
}

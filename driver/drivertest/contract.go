package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

// reach ends the run if the server does not answer, so that not every test reports that.
func reach(t *testing.T, s suite) {
	call := driver.Call{Script: driver.NewScript("reach", "return 1"), Keys: []string{s.prefix + "reach"}}
	_, err := s.open(t).Eval(bounded(t), call)
	_, answered := errors.AsType[driver.ServerError](err)
	switch {
	case err == nil || answered:
	case strings.Contains(err.Error(), "NOSCRIPT"):
		t.Fatalf("Eval: got the server's error %q as %[1]T: an error reply must be a driver.ServerError", err)
	default:
		t.Fatalf("cannot reach the server, or returned its error reply not as a driver.ServerError: Eval: %v (%[1]T)", err)
	}
}

// replies compares what Eval and EvalAll return with the comments of driver.Store. The
// server has never seen these scripts, so the first run of each needs its source.
func replies(t *testing.T, s suite) {
	store := s.open(t)
	args := []string{"", "two words", "line\r\nbreak", "\x00\xff"}
	cases := []struct {
		lua     string
		want    []string
		refused string // the server's error
		fails   bool   // an error of the driver or the server
	}{
		{lua: "return 9007199254740991", want: []string{"9007199254740991"}},
		{lua: "return -1", want: []string{"-1"}},
		{lua: "return 'text'", want: []string{"text"}},
		{lua: "return ''", want: []string{""}},
		{lua: "return redis.status_reply('OK')", want: []string{"OK"}},
		{lua: "return false"},
		{lua: "return {}"},
		{lua: "return {1, 'two', '', false, 5}", want: []string{"1", "two", "", "", "5"}},
		{lua: "return ARGV", want: args},
		{lua: "return {KEYS[1], #KEYS, #ARGV}", want: []string{s.prefix + "reply", "1", "4"}},
		{lua: "return redis.error_reply('SOLD out')", refused: "SOLD out"},
		{lua: "return {1, redis.error_reply('SOLD out')}", refused: "SOLD out"},
		{lua: "return {1, {2}}", fails: true},
	}
	check := func(by, lua string, got driver.Result, want []string, refused string, fails bool) {
		t.Helper()
		switch {
		case refused != "" && !errors.Is(got.Err, driver.ServerError(refused)):
			t.Errorf("%s of %q: got %q, error %v (%[4]T), want ServerError(%q)", by, lua, got.Reply, got.Err, refused)
		case fails && got.Err == nil:
			t.Errorf("%s of %q: got %q, want an error", by, lua, got.Reply)
		case fails || refused != "":
		case got.Err != nil || !slices.Equal(got.Reply, want):
			t.Errorf("%s of %q: got %q, error %v, want %q", by, lua, got.Reply, got.Err, want)
		}
	}
	calls := make([]driver.Call, len(cases))
	for _, by := range []string{"Eval by source", "Eval by SHA", "EvalAll by source", "EvalAll by SHA"} {
		if t.Failed() {
			return // the next lines would only repeat it
		}
		for i, c := range cases {
			// EvalAll gets other sources than Eval. Half of the scripts of its first run are known.
			source := c.lua + " -- " + s.prefix + by[:len("Eval ")] + strconv.Itoa(i%2)
			calls[i] = driver.Call{Script: driver.NewScript("reply", source), Keys: []string{s.prefix + "reply"}, Args: args}
			if by[:5] == "Eval " {
				var got driver.Result
				got.Reply, got.Err = store.Eval(bounded(t), calls[i])
				check(by, c.lua, got, c.want, c.refused, c.fails)
			}
		}
		if by[:5] == "Eval " {
			continue
		}
		results := store.EvalAll(bounded(t), calls)
		if len(results) != len(calls) {
			t.Fatalf("%s: got %d results, want %d", by, len(results), len(calls))
		}
		for i, c := range cases {
			check(by, c.lua, results[i], c.want, c.refused, c.fails)
		}
	}
}

// scan finds 3,000 keys, for which SCAN needs several pages.
func scan(t *testing.T, s suite) {
	const count, batch = 3000, 500
	store := s.open(t)
	each := func(lua string) {
		script := driver.NewScript("each", "for _, key in ipairs(KEYS) do "+lua+" end")
		for start := 0; start < count; start += batch {
			keys := make([]string, batch)
			for i := range keys {
				keys[i] = fmt.Sprintf("%s{scan}:%d", s.prefix, start+i)
			}
			if _, err := store.Eval(bounded(t), driver.Call{Script: script, Keys: keys}); err != nil {
				t.Fatalf("Eval with %d keys: %v", batch, err)
			}
		}
	}
	each("redis.call('SET', key, '', 'PX', 600000)")
	found := map[string]bool{}
	for key, err := range store.Scan(bounded(t), s.prefix+"{scan}:*") {
		if err != nil {
			t.Fatalf("Scan: %v", err)
		}
		found[key] = true
	}
	each("redis.call('DEL', key)")
	if len(found) != count {
		t.Fatalf("Scan: got %d keys, want %d: read pages until the cursor is 0", len(found), count)
	}
}

// subscribe publishes as soon as Subscribe has returned, and wants every message in order.
func subscribe(t *testing.T, s suite) {
	const count = 300
	store := s.open(t)
	channel := "holdfast/push:{" + s.prefix + "subscribe}"
	got := make(chan string, 2*count)
	sub, err := store.Subscribe(bounded(t), channel, func(payload string) { got <- payload })
	if err != nil {
		t.Fatalf("Subscribe: %v", err)
	}
	defer sub.Close()
	command := "PUBLISH"
	if store.Sharded() {
		command = "SPUBLISH"
	}
	publish := driver.NewScript("publish", "for i = 1, tonumber(ARGV[1]) do redis.call('"+command+"', KEYS[1], 'message ' .. i) end")
	if _, err := store.Eval(bounded(t), driver.Call{Script: publish, Keys: []string{channel}, Args: []string{strconv.Itoa(count)}}); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	timeout := time.After(5 * time.Second)
	for i := range count {
		select {
		case payload := <-got:
			if want := fmt.Sprintf("message %d", i+1); payload != want {
				t.Fatalf("message: got %q, want %q: call message in order, from one goroutine", payload, want)
			}
		case <-timeout:
			t.Fatalf("got %d of %d messages that were published after Subscribe had returned", i, count)
		}
	}
	if err := sub.Ping(bounded(t)); err != nil {
		t.Errorf("Ping: %v", err)
	}
	sub.Close()
	sub.Close()
	select {
	case <-sub.Done():
	case <-time.After(5 * time.Second):
		t.Error("Done is not closed 5 s after Close")
	}
}

// evalWait sends a pipeline with one call that the server refuses, and one after its context has ended.
func evalWait(t *testing.T, s suite) {
	store := s.open(t)
	key := s.prefix + "wait"
	count := driver.NewScript("count", "return ARGV[1]")
	calls := make([]driver.Call, 10)
	for i := range calls {
		calls[i] = driver.Call{Script: count, Keys: []string{key}, Args: []string{fmt.Sprint(i)}}
	}
	calls[7].Script = driver.NewScript("wrong", "return {err = 'ERR ' .. ARGV[1]}")
	for range 2 { // by source, then by SHA
		results, acked, err := store.EvalWait(bounded(t), calls, 0, time.Second)
		if err != nil || acked < 0 || len(results) != len(calls) {
			t.Fatalf("EvalWait: got %d results, %d replicas, %v; want %d results", len(results), acked, err, len(calls))
		}
		for i, result := range results {
			var said driver.ServerError
			switch {
			case i == 7 && !errors.As(result.Err, &said):
				t.Fatalf("EvalWait of 10 calls: call 7: got %q, error %v (%[2]T), want a driver.ServerError", result.Reply, result.Err)
			case i != 7 && (result.Err != nil || len(result.Reply) != 1 || result.Reply[0] != fmt.Sprint(i)):
				t.Fatalf("EvalWait of 10 calls: call %d: got %q, error %v, want %q (after NOSCRIPT the call runs by its source)", i, result.Reply, result.Err, fmt.Sprint(i))
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, _, err := store.EvalWait(ctx, calls, 0, time.Second)
	if len(results) != len(calls) || err == nil && results[0].Err == nil {
		t.Fatalf("EvalWait after its context: got %v, %v, want %d errors", results, err, len(calls))
	}
}

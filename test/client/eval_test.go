//go:build unix

package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func keyW(name string) string { return "holdfast/written:{" + clienttest.LockKey(name) + "}" }

// Whatever is a chunk of Lua by itself is one behind the check, with its own
// lines, KEYS and ARGV; and what is none does nothing, above all not before the
// check.
func TestEvalTakesAnyChunk(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	var many strings.Builder
	for i := range 199 { // of the 200 that a function of Lua may have
		fmt.Fprintf(&many, "local v%d = %d\n", i, i)
	}
	args := make([]string, 9000) // more than a call of Lua returns at once
	for i := range args {
		args[i] = fmt.Sprint(i)
	}
	tests := []struct {
		about, script string
		args          []string
		want          []string
		says          string
	}{
		{about: "empty", script: ""},
		{about: "only a comment", script: "-- nothing"},
		{about: "a return without a value", script: "return"},
		{about: "a comment at its end", script: "return 1 -- one", want: []string{"1"}},
		{about: "a long comment at its end", script: "return 1 --[==[ ]] end", want: nil, says: "unfinished long comment"},
		{about: "semicolons", script: "local a = 1; return a;", want: []string{"1"}},
		{about: "lines of another system", script: "local a = 1\r\nreturn a\r\n", want: []string{"1"}},
		{about: "functions and locals", script: "local function f(n) return n == 0 and 1 or n * f(n - 1) end return f(5)", want: []string{"120"}},
		{about: "locals called as ours are", script: "local L, W, t, now = KEYS, ARGV return {#L, #W, type(now)}", args: []string{"x"}, want: []string{"1", "1", "nil"}},
		{about: "a local of ours", script: "return type(holder)", says: "nonexistent global variable 'holder'"},
		{about: "as many locals as there can be", script: many.String() + "return v198", want: []string{"198"}},
		{about: "many arguments", script: "return {#KEYS, #ARGV, ARGV[1], ARGV[#ARGV]}", args: args, want: []string{"1", "9000", "0", "8999"}},
		{about: "bytes that are no text", script: "return ARGV[1]", args: []string{"\x00\xff\n"}, want: []string{"\x00\xff\n"}},
		{about: "an end too many", script: "redis.call('SET', KEYS[1], 'x') end local function f()", says: "near 'end'"},
		{about: "a jump out", script: "end end redis.call('SET', KEYS[1], 'x') do if true then", says: "near 'end'"},
		{about: "an end too few", script: "if true then redis.call('SET', KEYS[1], 'x')", says: "'end' expected"},
		{about: "a line of flags", script: "#!lua flags=no-writes\nreturn 1", says: `can't begin with "#!"`},
		{about: "an error in its third line", script: "local a = 1\n\nerror('mine')", says: "user_script:3: mine"},
		{about: "an error of its own", script: "return redis.error_reply('SOLD out')", says: "SOLD out"},
		{about: "an error of a command", script: "return redis.call('LPUSH', KEYS[1])", says: "Wrong number of args"},
		{about: "an answer within an answer", script: "return {1, {2}}", says: "element 1"},
	}
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		client := holdfast.New(d.Open(t, server.URL(), clienttest.Way{}), nil)
		defer client.Close()
		lease := clienttest.Take(t, client, "chunks")
		for _, test := range tests {
			got, err := lease.Eval(t.Context(), test.script, []string{"free"}, test.args)
			if test.says == "" && (err != nil || !slices.Equal(got, test.want)) {
				t.Errorf("%s: got %.100q, %v, want %.100q", test.about, got, err, test.want)
			}
			if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%s: got %.100q, %v, want an error that says %q", test.about, got, err, test.says)
			}
		}
		if got := server.MustDo(t, "EXISTS", "free"); got != "0" {
			t.Error("what is no chunk wrote")
		}
		clienttest.GiveBack(t, lease)
	})
}

// What the check refuses, or can't tell, leaves no trace of the user's script; the
// scripts of a lease survive that the server forgets them.
func TestEvalRefused(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := clienttest.Open(t, server.URL(), holdfast.Options{})
	lease := clienttest.Take(t, client, "n")
	write := func(value string) error {
		_, err := lease.Eval(t.Context(), "return redis.call('SET', KEYS[1], ARGV[1])", []string{"x"}, []string{value})
		return err
	}
	if err := write("1"); err != nil {
		t.Fatal(err)
	}
	server.MustDo(t, "SCRIPT", "FLUSH")
	if err := write("2"); err != nil {
		t.Errorf("after SCRIPT FLUSH: got %v, want nil", err)
	}
	if got, want := server.MustDo(t, "GET", keyW("n")), fmt.Sprint(lease.Token()); got != want {
		t.Errorf("W: got %s, want the token %s", got, want)
	}

	server.MustDo(t, "SET", keyW("n"), lease.Token()+7)
	err := write("3")
	stale, ok := errors.AsType[*holdfast.StaleError](err)
	if !ok || stale.Token != lease.Token() || stale.Newest != lease.Token()+7 || !errors.Is(err, holdfast.ErrStale) || !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("below the token that wrote: got %v, want it stale, with both tokens", err)
	}
	for _, garbled := range []string{"-1", "1e3", "nan", "9007199254740992", " 1"} {
		server.MustDo(t, "SET", keyW("n"), garbled)
		if err := write("3"); err == nil || !strings.Contains(err.Error(), "holds no token") {
			t.Errorf("with %q at W: got %v, want that it holds no token", garbled, err)
		}
	}
	server.MustDo(t, "DEL", keyW("n"))
	server.MustDo(t, "LPUSH", keyW("n"), "1")
	if err := write("3"); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("with a list at W: got %v, want WRONGTYPE", err)
	}
	server.MustDo(t, "DEL", keyW("n"))

	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1mb")
	if err := write("3"); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("with full memory: got %v, want OOM", err)
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
	if got := server.MustDo(t, "GET", "x"); got != "2" {
		t.Errorf("x: got %s, want 2: a script that was refused wrote", got)
	}

	server.MustDo(t, "SET", clienttest.LockKey("n"), "somebody", "PX", 60000)
	clienttest.LostBy(t, write("3"), holdfast.Taken)
	clienttest.Eventually(t, "the lease is over", func() bool { return lease.Err() != nil })
}

// With a short TokenMemory each Eval prolongs the key of its token. Full memory refuses only the
// first of a lease.
func TestEvalFullMemory(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	lease := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{TokenMemory: time.Minute}), "n")
	read := func() error {
		_, err := lease.Eval(t.Context(), "return redis.call('GET', KEYS[1])", []string{"x"}, nil)
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "1mb")
	if err := read(); err != nil {
		t.Errorf("with full memory: got %v, want nil for a script that writes nothing", err)
	}
	server.MustDo(t, "CONFIG", "SET", "maxmemory", "0")
}

// The lock's own keys are not among those of a user's script.
func TestEvalRefusesKeys(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	lease := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{}), "n")
	for _, key := range []string{clienttest.LockKey("n"), clienttest.FenceKey("n"), keyW("n"), "holdfast/anything"} {
		_, err := lease.Eval(t.Context(), "return redis.call('DEL', KEYS[2])", []string{"x", key}, nil)
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("with %s: got %v, want that it is refused", key, err)
		}
	}
	if err := lease.Err(); err != nil {
		t.Errorf("the lease: got %v, want held", err)
	}
}

// In a Cluster keys of another slot are refused before anything is sent, with
// both; keys of the lock's own slot will do, whether it has a tag or not.
func TestEvalInACluster(t *testing.T) {
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 0))
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		for _, prefix := range []string{"", "{app}:"} {
			client := holdfast.New(d.Open(t, nodes.URL(), clienttest.Way{}), &holdfast.Options{Prefix: prefix})
			defer client.Close()
			for i := range 6 { // on any of the nodes
				lease := clienttest.Take(t, client, fmt.Sprint("n", i))
				tag := "app"
				if prefix == "" {
					tag = clienttest.LockKey(lease.Name())
				}
				near := "stock:{" + tag + "}"
				if _, err := lease.Eval(t.Context(), "return redis.call('SET', KEYS[1], ARGV[1])", []string{near}, []string{"1"}); err != nil {
					t.Errorf("%s with %s: got %v, want nil", lease.Name(), near, err)
				}
				far := "{elsewhere}"
				_, err := lease.Eval(t.Context(), "return redis.call('SET', KEYS[2], 'x')", []string{near, far}, nil)
				if err == nil || !strings.Contains(err.Error(), far) || !strings.Contains(err.Error(), lease.Name()) || !strings.Contains(err.Error(), "{"+tag+"}") {
					t.Errorf("%s with %s: got %v, want an error that names both", lease.Name(), far, err)
				}
				clienttest.GiveBack(t, lease)
			}
		}
	})
}

// On a quorum Eval says at once what to do instead.
func TestEvalOnAQuorum(t *testing.T) {
	d := clienttest.Deploy(t, 3)
	lease := clienttest.Take(t, d.Client(holdfast.QuorumOptions{}), "n")
	if _, err := lease.Eval(t.Context(), "return 1", nil, nil); err == nil || !strings.Contains(err.Error(), "package fence") {
		t.Errorf("got %v, want a hint to package fence", err)
	}
	clienttest.GiveBack(t, lease)
}

// Eval returns when its context ends, or after a while, when the server hangs.
func TestEvalWhileTheServerIsFrozen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	lease := clienttest.Take(t, clienttest.Open(t, server.URL(), holdfast.Options{TTL: 2 * time.Second}), "n")
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{100 * time.Millisecond, clienttest.Patience} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		err := clienttest.Bounded(t, "Eval", func() error {
			_, err := lease.Eval(ctx, "return 1", nil, nil)
			return err
		})
		// (The lease may be over before the second, on a slow machine.)
		if !errors.Is(err, holdfast.ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("with a context of %v: got %v, want that it is over or nothing answers", wait, err)
		}
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
}

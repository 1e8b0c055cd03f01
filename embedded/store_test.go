package embedded_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

func open(t testing.TB) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func lua(source string) *driver.Script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return &driver.Script{Name: "test", Source: source, SHA: hex.EncodeToString(sum[:])}
}

func do(t testing.TB, store *embedded.Store, args ...string) any {
	t.Helper()
	reply, err := store.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

func want(t testing.TB, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestEvalDecodesReplies(t *testing.T) {
	store := open(t)
	tests := []struct {
		source string
		want   []string
	}{
		{`return {'a', 2, 'c'}`, []string{"a", "2", "c"}},
		{`return 'a'`, []string{"a"}},
		{`return 7`, []string{"7"}},
		{`return redis.status_reply('FINE')`, []string{"FINE"}},
		{`return false`, nil},
		{`return {}`, nil},
		{`return {'a', false, 'c'}`, []string{"a", "", "c"}},
		{`return {KEYS[1], KEYS[2], ARGV[1]}`, []string{"k1", "k2", "with space\r\n\x00"}},
	}
	for _, test := range tests {
		call := driver.Call{Script: lua(test.source), Keys: []string{"k1", "k2"}, Args: []string{"with space\r\n\x00"}}
		for range 2 { // by source, then by SHA
			got, err := store.Eval(t.Context(), call)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q, %v, want %q", test.source, got, err, test.want)
			}
		}
	}
}

func TestEvalErrors(t *testing.T) {
	store := open(t)
	refusal := func(err error) string {
		refused, ok := errors.AsType[driver.ServerError](err)
		if !ok {
			t.Errorf("got %T (%v), want a ServerError", err, err)
		}
		return string(refused)
	}

	_, err := store.Eval(t.Context(), driver.Call{Script: lua(`return redis.error_reply('NOPERM because')`)})
	want(t, refusal(err), "NOPERM because")

	do(t, store, "ZADD", "zset", "1", "m")
	for source, words := range map[string]string{ // as Redis 7 words it
		`return redis.call('GET', 'zset')`:              "WRONGTYPE Operation against a key holding the wrong kind of value",
		`return redis.call('NOSUCH')`:                   "ERR Unknown Redis command called from script",
		`return redis.call('SET', 'k', 'v', 'PX', '0')`: "ERR invalid expire time in",
		`error('CODE with words', 0)`:                   "ERR CODE with words",
		`error('CODE with words')`:                      "ERR user_script:1: CODE with words",
		`return nil - 1`:                                "ERR user_script:1: ",
		`local x = (`:                                   "ERR Error compiling script",
		`return {err = 'ERR Error compiling script'}`:   "ERR Error compiling script",
		`return redis.pcall('GET', 'zset')`:             "WRONGTYPE Operation",
		`return {err = 'CODE stack traceback: x'}`:      "CODE stack traceback: x",
	} {
		_, err := store.Eval(t.Context(), driver.Call{Script: lua(source)})
		if got := refusal(err); !strings.HasPrefix(got, words) || strings.Contains(got, "[G]") {
			t.Errorf("%s: got %q, want %q", source, got, words)
		}
	}

	_, err = store.Eval(t.Context(), driver.Call{Script: lua(`return {'a', {'b'}}`)})
	if err == nil {
		t.Error("a nested answer was taken for text")
	}

	_, err = store.Do("NOSUCH")
	refusal(err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.Eval(ctx, driver.Call{Script: lua(`return 1`)})
	want(t, err, context.Canceled)
}

func TestEvalAllKeepsOrderAndSurvivesFlush(t *testing.T) {
	store := open(t)
	calls := make([]driver.Call, 100)
	for i := range calls {
		calls[i] = driver.Call{Script: lua(`return ARGV[1]`), Args: []string{fmt.Sprint(i)}}
		if i%10 == 3 {
			calls[i].Script = lua(`return redis.error_reply('NO ' .. ARGV[1])`)
		}
	}
	for range 2 {
		for i, result := range store.EvalAll(t.Context(), calls) {
			if i%10 == 3 {
				want(t, result.Err, error(driver.ServerError(fmt.Sprint("NO ", i))))
				continue
			}
			if result.Err != nil || !slices.Equal(result.Reply, []string{fmt.Sprint(i)}) {
				t.Errorf("call %d: got %q, %v", i, result.Reply, result.Err)
			}
		}
		do(t, store, "SCRIPT", "FLUSH")
	}
}

func TestScan(t *testing.T) {
	store := open(t)
	for i := range 50 {
		do(t, store, "SET", fmt.Sprintf("holdfast/fence:{a:%d}", i), "1")
		do(t, store, "SET", fmt.Sprintf("other:%d", i), "1")
	}
	got := map[string]bool{}
	for key, err := range store.Scan(t.Context(), "holdfast/fence:{a:*}") {
		if err != nil {
			t.Fatal(err)
		}
		got[key] = true
	}
	want(t, len(got), 50)
}

func TestScoresAreWrittenAsRedisWritesThem(t *testing.T) {
	store := open(t)
	for _, score := range []string{"1763650123456789", "0", "-42", "1.5", "9007199254740991"} {
		do(t, store, "ZADD", "z", score, "m")
		want(t, do(t, store, "ZSCORE", "z", "m"), any(score))
		want(t, fmt.Sprint(do(t, store, "ZRANGE", "z", "0", "-1", "WITHSCORES")), "[m "+score+"]")
		want(t, fmt.Sprint(do(t, store, "ZRANGE", "z", "0", "-1")), "[m]")
		reply, err := store.Eval(t.Context(), driver.Call{Script: lua(`return redis.call('ZSCORE', KEYS[1], 'm')`), Keys: []string{"z"}})
		if err != nil || reply[0] != score {
			t.Errorf("in a script: got %q, %v, want %s", reply, err, score)
		}
	}
	want(t, do(t, store, "ZSCORE", "z", "nobody"), nil)
	want(t, do(t, store, "ZSCORE", "nothing", "m"), nil)
	want(t, fmt.Sprint(do(t, store, "ZPOPMIN", "z")), "[m 9007199254740991]")
	if _, err := store.Do("ZSCORE", "z"); err == nil {
		t.Error("a ZSCORE without a member was answered")
	}
}

func TestRefusesWhatItCannotDo(t *testing.T) {
	store := open(t)
	commands := [][]string{
		{"MULTI"}, {"WATCH", "k"}, {"BLPOP", "k", "0"}, {"XREAD", "BLOCK", "0", "STREAMS", "s", "$"},
		{"SELECT", "1"}, {"MOVE", "k", "1"}, {"COPY", "a", "b", "DB", "1"}, {"CLUSTER", "SLOTS"},
		{"HEXPIRE", "h", "1", "FIELDS", "1", "f"}, {"SUBSCRIBE", "c"}, {"RESTORE", "k", "0", "x"},
		{"SET", "k", "v", "PX", "9999999999999"}, {"PEXPIRE", "k", "9223372036854775807"},
	}
	for _, command := range commands {
		if reply, err := store.Do(command...); err == nil {
			t.Errorf("%v: got %v, want an error", command, reply)
		}
	}
	want(t, do(t, store, "SELECT", "0"), any("OK"))
}

func TestClosedStore(t *testing.T) {
	store, err := embedded.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := store.Subscribe(t.Context(), "c", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	<-sub.Done()
	sub.Close()
	want(t, sub.Ping(t.Context()), embedded.ErrClosed)

	_, err = store.Eval(t.Context(), driver.Call{Script: lua(`return 1`)})
	want(t, err, embedded.ErrClosed)
	_, err = store.Subscribe(t.Context(), "c", func(string) {})
	want(t, err, embedded.ErrClosed)
	_, err = store.Listen("127.0.0.1:0")
	want(t, err, embedded.ErrClosed)
}

func TestConcurrentUse(t *testing.T) {
	store := open(t)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			channel := fmt.Sprint("c", i%3)
			for range 50 {
				sub, err := store.Subscribe(context.Background(), channel, func(string) {})
				if err != nil {
					t.Error(err)
					return
				}
				call := driver.Call{
					Script: lua(`redis.call('SET', KEYS[1], 'x', 'PX', 1)
						redis.call('PUBLISH', ARGV[1], 'hello')
						return redis.call('PUBSUB', 'NUMSUB', ARGV[1])[2]`),
					Keys: []string{channel}, Args: []string{channel},
				}
				if _, err := store.Eval(context.Background(), call); err != nil {
					t.Error(err)
				}
				sub.Close()
			}
		})
	}
	running.Wait()
}

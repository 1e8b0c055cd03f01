package embedded_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast/driver"
)

var count = lua(`return redis.call('PUBSUB', 'NUMSUB', ARGV[1])[2]`)

func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		numsub := func() string {
			reply, err := store.Eval(t.Context(), driver.Call{Script: count, Args: []string{"c"}})
			if err != nil {
				t.Fatal(err)
			}
			return reply[0]
		}
		var got, expected []string
		sub, err := store.Subscribe(t.Context(), "c", func(payload string) { got = append(got, payload) })
		if err != nil {
			t.Fatal(err)
		}
		want(t, numsub(), "1") // confirmed means counted
		if err := sub.Ping(t.Context()); err != nil {
			t.Error(err)
		}

		publish := lua(`for i = 1, 100 do redis.call('PUBLISH', ARGV[1], ARGV[2] .. i) end
			return redis.call('PUBLISH', 'nobody', 'x')`)
		for _, word := range []string{"a", "b\r\n\x00"} {
			reply, err := store.Eval(t.Context(), driver.Call{Script: publish, Args: []string{"c", word}})
			if err != nil {
				t.Fatal(err)
			}
			want(t, reply[0], "0")
			for i := range 100 {
				expected = append(expected, fmt.Sprint(word, i+1))
			}
		}
		synctest.Wait()
		if !slices.Equal(got, expected) {
			t.Errorf("got %d messages %q, want %d in order", len(got), got, len(expected))
		}

		sub.Close()
		sub.Close()
		<-sub.Done()
		want(t, numsub(), "0")
		if sub.Ping(t.Context()) == nil {
			t.Error("a closed subscription answered a ping")
		}
	})
}

// A message that uses the store, and one that takes for ever, hold up nobody.
func TestMessageMayUseTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		stuck := make(chan struct{})
		defer close(stuck)
		_, err := store.Subscribe(t.Context(), "c", func(string) { <-stuck })
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Subscribe(t.Context(), "c", func(payload string) {
			if _, err := store.Do("SET", "heard", payload); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			want(t, do(t, store, "PUBLISH", "c", fmt.Sprint(i)), any(int64(2)))
		}
		synctest.Wait()
		want(t, do(t, store, "GET", "heard"), any("999"))
	})
}

// One that never reads is given up before it fills the memory.
func TestSubscriberThatIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		stuck := make(chan struct{})
		sub, err := store.Subscribe(t.Context(), "c", func(string) { <-stuck })
		if err != nil {
			t.Fatal(err)
		}
		payload := string(make([]byte, 1<<20))
		for range 20 {
			do(t, store, "PUBLISH", "c", payload)
		}
		close(stuck)
		<-sub.Done()
		synctest.Wait()
		want(t, do(t, store, "PUBLISH", "c", "x"), any(int64(0)))
	})
}

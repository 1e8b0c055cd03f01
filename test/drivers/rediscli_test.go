package drivers_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// A lock by hand, as the Redis documentation teaches it, and ours exclude each
// other: on a real server, and on the embedded store's port.
func TestRedisCLIAndWeExcludeEachOther(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		server := redistest.Start(t, redistest.Options{})
		store, err := rueidisstore.Open(server.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		besideRedisCLI(t, server.Addr(), store)
	})
	t.Run("embedded", func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		addr, err := store.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		besideRedisCLI(t, addr.String(), store)
	})
}

// cli runs one command with redis-cli.
func cli(t *testing.T, addr string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "redis-cli", append([]string{"-h", host, "-p", port}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

const deleteOwn = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

func besideRedisCLI(t *testing.T, addr string, store driver.Store) {
	client := holdfast.New(store, nil)
	t.Cleanup(func() { _ = client.Close() })

	// Theirs first: we are told so, and wait until they let go.
	if got := cli(t, addr, "SET", "holdfast:job", "by hand", "NX", "PX", "60000"); got != "OK" {
		t.Fatalf("SET NX of a free key: %q", got)
	}
	var held *holdfast.HeldError
	if _, err := client.Mutex("job").TryLock(t.Context()); !errors.As(err, &held) || !held.Foreign {
		t.Errorf("TryLock = %v; want held by a foreign client", err)
	}
	got := make(chan *holdfast.Lease, 1)
	go func() {
		lease, err := client.Mutex("job").Lock(t.Context())
		if err != nil {
			t.Errorf("Lock: %v", err)
		}
		got <- lease
	}()
	if n := cli(t, addr, "EVAL", deleteOwn, "1", "holdfast:job", "by hand"); n != "1" {
		t.Fatalf("the delete by hand: %q", n)
	}
	lease := <-got

	// Ours: theirs is refused, also the delete, until we let go.
	if got := cli(t, addr, "SET", "holdfast:job", "by hand", "NX", "PX", "60000"); got != "" {
		t.Errorf("SET NX of a key that we hold: %q", got)
	}
	if n := cli(t, addr, "EVAL", deleteOwn, "1", "holdfast:job", "by hand"); n != "0" {
		t.Errorf("the delete of what is ours: %q", n)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if got := cli(t, addr, "SET", "holdfast:job", "by hand", "NX", "PX", "60000"); got != "OK" {
		t.Errorf("SET NX after our release: %q", got)
	}
	cli(t, addr, "DEL", "holdfast:job")

	countTogether(t, addr, client)
}

// countTogether has both sides increment a plain file.
func countTogether(t *testing.T, addr string, client *holdfast.Client) {
	const each = 30
	file := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	increment := func() {
		text, err := os.ReadFile(file)
		n, atoiErr := strconv.Atoi(string(text))
		if err := errors.Join(err, atoiErr, os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600)); err != nil {
			t.Error(err)
		}
	}
	var sides sync.WaitGroup
	sides.Go(func() {
		for range each {
			lease, err := client.Mutex("count").Lock(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			increment()
			if err := lease.Release(); err != nil {
				t.Error(err)
			}
		}
	})
	sides.Go(func() {
		end := time.Now().Add(60 * time.Second)
		for i := range each {
			me := fmt.Sprint("hand ", i)
			for cli(t, addr, "SET", "holdfast:count", me, "NX", "PX", "60000") != "OK" {
				if time.Now().After(end) {
					t.Error("redis-cli does not get the lock in a minute")
					return
				}
			}
			increment()
			cli(t, addr, "EVAL", deleteOwn, "1", "holdfast:count", me)
		}
	})
	sides.Wait()
	if text, err := os.ReadFile(file); err != nil || string(text) != strconv.Itoa(2*each) {
		t.Errorf("the file says %q, %v; want %d", text, err, 2*each)
	}
}

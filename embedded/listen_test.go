package embedded_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
)

// client speaks the protocol by hand.
type client struct {
	testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func dial(t testing.TB, store *embedded.Store) *client {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(store.URL(), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) send(args ...string) {
	c.Helper()
	request := fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c.conn, request); err != nil {
		c.Fatal(err)
	}
}

func (c *client) read() any {
	c.Helper()
	reply, err := embedded.Read(c.r)
	if err != nil {
		c.Fatal(err)
	}
	return reply
}

func (c *client) do(args ...string) any {
	c.Helper()
	c.send(args...)
	return c.read()
}

func listen(t testing.TB) *embedded.Store {
	t.Helper()
	store := open(t)
	if _, err := store.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestListen(t *testing.T) {
	store := listen(t)
	c := dial(t, store)
	want(t, c.do("PING"), any("PONG"))
	want(t, c.do("SET", "k", "v", "PX", "60000"), any("OK"))
	want(t, do(t, store, "GET", "k"), any("v"))
	want(t, c.do("CLUSTER", "SLOTS"), any(driver.ServerError("ERR This instance has cluster support disabled")))
	if info, ok := c.do("INFO", "server").(string); !ok || !strings.Contains(info, "run_id:") {
		t.Errorf("INFO answered %q", info)
	}

	// A pipeline, and an empty command within it, which Redis ignores.
	for range 100 {
		c.send("INCR", "n")
		c.send()
	}
	for i := range 100 {
		want(t, c.read(), any(int64(i+1)))
	}

	want(t, c.do("QUIT"), any("OK"))
	if _, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after QUIT: got %v, want the connection's end", err)
	}
}

func TestListenSubscribe(t *testing.T) {
	store := listen(t)
	c := dial(t, store)
	want(t, fmt.Sprint(c.do("SUBSCRIBE", "a", "b")), "[subscribe a 1]")
	want(t, fmt.Sprint(c.read()), "[subscribe b 2]")
	want(t, fmt.Sprint(c.do("PSUBSCRIBE", "*")), "[psubscribe * 3]")
	want(t, do(t, store, "PUBLISH", "a", "hello"), any(int64(2)))
	got := map[string]bool{fmt.Sprint(c.read()): true, fmt.Sprint(c.read()): true}
	if !got["[message a hello]"] || !got["[pmessage * a hello]"] {
		t.Errorf("got %v", got)
	}
	want(t, fmt.Sprint(c.do("PING")), "[pong ]")

	_ = c.conn.Close()
	eventually(t, "the dead subscriber is forgotten", func() bool {
		return do(t, store, "PUBLISH", "a", "x") == any(int64(0))
	})
}

// A subscriber behind a full socket must not stop anybody else.
func TestListenSubscriberThatDoesNotRead(t *testing.T) {
	store := listen(t)
	c := dial(t, store)
	c.do("SUBSCRIBE", "a")
	payload := strings.Repeat("x", 1<<20)
	eventually(t, "the subscriber that does not read is given up", func() bool {
		return do(t, store, "PUBLISH", "a", payload) == any(int64(0))
	})
}

func TestListenRefusesNonsense(t *testing.T) {
	store := listen(t)
	for _, nonsense := range []string{"PING\r\n", "*1\r\n$99999999999\r\n", "*-5\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n*1\r\n$1\r\na\r\n"} {
		c := dial(t, store)
		if _, err := io.WriteString(c.conn, nonsense); err != nil {
			t.Fatal(err)
		}
		want(t, c.read(), any(driver.ServerError("ERR Protocol error")))
		if _, err := c.r.ReadByte(); err == nil {
			t.Errorf("%q: the connection goes on", nonsense)
		}
	}
	want(t, dial(t, store).do("PING"), any("PONG"))
}

func TestListenOnlyOnLoopback(t *testing.T) {
	store := open(t)
	for _, addr := range []string{":0", "0.0.0.0:0", "192.0.2.1:0", "example.com:0", "[::]:0", "nonsense"} {
		if got, err := store.Listen(addr); err == nil {
			t.Errorf("listening on %v", got)
		}
	}
	want(t, store.URL(), "")
	if _, err := store.Listen("localhost:0"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Listen("127.0.0.1:0"); err == nil {
		t.Error("listening twice")
	}
}

func TestCloseEndsConnections(t *testing.T) {
	store := listen(t)
	c, idle := dial(t, store), dial(t, store)
	c.do("SUBSCRIBE", "a")
	idle.do("PING")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{c, idle} {
		if _, err := c.r.ReadByte(); err == nil {
			t.Error("a connection outlived the store")
		}
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

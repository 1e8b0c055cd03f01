package redistest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// echo answers every byte with itself and reports what it read.
func echo(t *testing.T) (addr string, read chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	read = make(chan string, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 1024)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					read <- string(buffer[:n])
					if _, err := conn.Write(buffer[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), read
}

func dial(t *testing.T, p *redistest.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func receive(conn net.Conn, within time.Duration, n int) (string, error) {
	buffer := make([]byte, n)
	_ = conn.SetReadDeadline(time.Now().Add(within))
	n, err := io.ReadFull(conn, buffer)
	return string(buffer[:n]), err
}

const (
	soon = 50 * time.Millisecond // long enough to see that nothing comes
	long = 5 * time.Second       // what surely comes has come by then
)

func TestProxyHold(t *testing.T) {
	addr, read := echo(t)
	p := redistest.StartProxy(t, addr)
	conn := dial(t, p)
	send(t, conn, "a")
	if got, err := receive(conn, long, 1); got != "a" {
		t.Fatalf("pass: got %q, %v, want %q", got, err, "a")
	}
	<-read

	p.Hold()
	send(t, conn, "b")
	if got, err := receive(conn, soon, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("hold: got %q, %v, want silence", got, err)
	}
	late := dial(t, p) // new ones are accepted and as silent
	send(t, late, "c")
	if got, err := receive(late, soon, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("hold, new connection: got %q, %v, want silence", got, err)
	}
	select {
	case got := <-read:
		t.Errorf("hold: the server read %q", got)
	default:
	}

	p.Pass()
	if got, err := receive(conn, long, 1); got != "b" {
		t.Errorf("healed: got %q, %v, want %q", got, err, "b")
	}
	if got, err := receive(late, long, 1); got != "c" {
		t.Errorf("healed: got %q, %v, want %q", got, err, "c")
	}
}

func TestProxyLosesAnAnswer(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	p := redistest.StartProxy(t, s.Addr())
	conn := dial(t, p)
	p.HoldReplies()
	send(t, conn, "SET a 1\r\n")
	for end := time.Now().Add(long); s.MustDo(t, "GET", "a") != "1"; {
		if time.Now().After(end) {
			t.Fatal("the request never ran")
		}
		time.Sleep(time.Millisecond)
	}
	if got, err := receive(conn, soon, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("hold replies: got %q, %v, want silence", got, err)
	}
	p.Cut()
	if got, err := receive(conn, long, 1); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("cut: got %q, %v, want a broken connection", got, err)
	}
	p.Pass()
	again := dial(t, p)
	send(t, again, "GET a\r\n")
	if got, err := receive(again, long, 7); got != "$1\r\n1\r\n" {
		t.Errorf("after the cut: got %q, %v", got, err)
	}
}

func TestProxyRefuse(t *testing.T) {
	addr, _ := echo(t)
	p := redistest.StartProxy(t, addr)
	old := dial(t, p)
	send(t, old, "a")
	if _, err := receive(old, long, 1); err != nil {
		t.Fatal(err)
	}
	p.Refuse()
	conns := []net.Conn{old}
	if fresh, err := net.Dial("tcp", p.Addr()); err == nil { // on a busy machine it is reset before it is ours
		t.Cleanup(func() { _ = fresh.Close() })
		conns = append(conns, fresh)
	}
	for _, conn := range conns {
		if got, err := receive(conn, long, 1); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("refuse: got %q, %v, want a broken connection", got, err)
		}
	}
}

func TestProxyDelayCostsNoThroughput(t *testing.T) {
	addr, _ := echo(t)
	p := redistest.StartProxy(t, addr)
	const delay = 20 * time.Millisecond
	p.Delay(delay)
	conn := dial(t, p)
	start := time.Now()
	for range 50 { // apart from each other, so that they are chunks of their own
		send(t, conn, "x")
		time.Sleep(time.Millisecond)
	}
	if _, err := receive(conn, long, 50); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*delay || took > 50*delay {
		t.Errorf("50 chunks each way took %s, want at least %s and not one delay for each", took, 2*delay)
	}
}

func TestProxyPassesTheEnd(t *testing.T) {
	addr, _ := echo(t)
	p := redistest.StartProxy(t, addr)
	conn := dial(t, p)
	send(t, conn, "a")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "a" || err != nil {
		t.Errorf("half closed: got %q, %v, want %q and the end", got, err, "a")
	}
}

func TestProxyHoldRequests(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	p := redistest.StartProxy(t, s.Addr())
	conn := dial(t, p)
	send(t, conn, "SUBSCRIBE c\r\n")
	const confirmed, told = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"
	if got, err := receive(conn, long, len(confirmed)); got != confirmed {
		t.Fatalf("got %q, %v", got, err)
	}
	p.HoldRequests()
	send(t, conn, "PING\r\n")
	s.MustDo(t, "PUBLISH", "c", "x")
	if got, err := receive(conn, long, len(told)); got != told {
		t.Errorf("a push: got %q, %v, want %q", got, err, told)
	}
	if got, err := receive(conn, soon, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a request: got %q, %v, want silence", got, err)
	}
	p.Pass()
	if got, err := receive(conn, long, 1); got != "*" {
		t.Errorf("after Pass: got %q, %v, want the answer", got, err)
	}
}

func TestProxyStall(t *testing.T) {
	addr, _ := echo(t)
	p := redistest.StartProxy(t, addr)
	old := dial(t, p)
	send(t, old, "a")
	if _, err := receive(old, long, 1); err != nil {
		t.Fatal(err)
	}
	p.Stall()
	send(t, old, "b")
	fresh := dial(t, p)
	send(t, fresh, "c")
	if got, err := receive(fresh, long, 1); got != "c" {
		t.Errorf("a new connection: got %q, %v, want %q", got, err, "c")
	}
	if got, err := receive(old, soon, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the old connection: got %q, %v, want silence", got, err)
	}
	p.Pass()
	if got, err := receive(old, long, 1); got != "b" {
		t.Errorf("after Pass: got %q, %v, want %q, late", got, err, "b")
	}
}

func TestProxyLosesTheNthAnswer(t *testing.T) {
	addr, read := echo(t)
	p := redistest.StartProxy(t, addr)
	conn := dial(t, p)
	p.LoseReply(2)
	for _, text := range []string{"a", "b"} {
		send(t, conn, text)
		if got := <-read; got != text {
			t.Errorf("the server read %q, want %q", got, text)
		}
		got, err := receive(conn, long, 1)
		switch {
		case text == "a" && got != "a":
			t.Errorf("the first answer: got %q, %v", got, err)
		case text == "b" && (err == nil || errors.Is(err, os.ErrDeadlineExceeded)):
			t.Errorf("the second answer: got %q, %v, want a broken connection", got, err)
		}
	}
	again := dial(t, p)
	send(t, again, "c")
	if got, err := receive(again, long, 1); got != "c" {
		t.Errorf("after that: got %q, %v, want %q", got, err, "c")
	}
}

// Clients that give up on a silent server and come again leave nothing behind: else a
// long silence would use up what a process may have open.
func TestProxyForgetsWhoLeft(t *testing.T) {
	addr, read := echo(t)
	p := redistest.StartProxy(t, addr)
	p.HoldReplies()
	conn := dial(t, p)
	send(t, conn, "a")
	<-read // the answer is held back
	if n := p.Links(); n != 1 {
		t.Fatalf("%d connections, want one", n)
	}
	_ = conn.Close()
	for began := time.Now(); p.Links() > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the connection is still there")
		}
	}
}

// exhausted is a listener of a process that at first has too many files open.
type exhausted struct {
	net.Listener
	times atomic.Int32
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.times.Add(-1) >= 0 {
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

func TestProxyGoesOnAfterTooManyFiles(t *testing.T) {
	addr, read := echo(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	full := &exhausted{Listener: l}
	full.times.Store(3)
	p := redistest.ProxyOn(full, addr)
	t.Cleanup(p.Close)
	send(t, dial(t, p), "a")
	select {
	case <-read:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody is let in any more")
	}
}

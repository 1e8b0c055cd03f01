//go:build linux

package netns_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/test/faults/netns"
)

// patience is for what must happen soon.
const patience = 30 * time.Second

// leaver makes this binary a process that ends without cleaning up.
const leaver = "NETNS_TEST_LEAVER"

func TestMain(m *testing.M) {
	if os.Getenv(leaver) == "" {
		flag.Parse()
		if testing.Short() {
			fmt.Println("-short: all of this needs namespaces")
			return
		}
		os.Exit(m.Run())
	}
	n, err := netns.Open(1)
	if err == nil {
		_, err = n.Line()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}

// allowed reports whether there is something to test. Where not, it is said why.
func allowed(t *testing.T, fault func() error) bool {
	t.Helper()
	err := fault()
	if err == nil {
		return true
	}
	if !errors.Is(err, netns.ErrNotAllowed) {
		t.Fatalf("got %v, want it to be %v", err, netns.ErrNotAllowed)
	}
	t.Log(err)
	return false
}

// peers are both ends of a connection through a network, and its line.
type peers struct {
	line           *netns.Line
	network        *netns.Network
	client, server net.Conn
}

// connect starts a server at the second address and connects from a line, in which
// commands may run before.
func connect(t *testing.T, commands ...string) peers {
	t.Helper()
	n := netns.Start(t, 2)
	listener, err := net.Listen("tcp", net.JoinHostPort(n.Server(1).String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	l, err := n.Line()
	if err != nil {
		t.Fatal(err)
	}
	p := peers{line: l, network: n}
	err = l.Do(func() (err error) {
		for _, c := range commands {
			if out, err := exec.Command("sh", "-c", c).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", c, err, out)
			}
		}
		p.client, err = net.DialTimeout("tcp", listener.Addr().String(), patience)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.client.Close() })
	if p.server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.server.Close() })
	if got, want := p.server.RemoteAddr().(*net.TCPAddr).AddrPort().Addr(), l.Addr(); got != want {
		t.Errorf("the server sees %v, want %v", got, want)
	}
	return p
}

// arrives reports whether a word gets from one end to the other.
func arrives(t *testing.T, from, to net.Conn, word string, limit time.Duration) bool {
	t.Helper()
	if word != "" {
		if _, err := fmt.Fprintln(from, word); err != nil {
			t.Fatal(err)
		}
	}
	_ = to.SetReadDeadline(time.Now().Add(limit))
	_, err := bufio.NewReader(to).ReadString('\n')
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

// What is cut is cut, and in that direction only; a connection outlives it, and
// CaughtUp returns when it works again.
func TestCut(t *testing.T) {
	if !allowed(t, netns.Allowed) {
		return
	}
	cuts := []struct {
		name              string
		cut               func(*netns.Line) error
		requests, answers bool // that pass
	}{
		{"down", (*netns.Line).Down, false, false},
		{"off", (*netns.Line).Off, false, false},
		{"nameless", (*netns.Line).Nameless, false, false},
		{"requests", func(l *netns.Line) error { return l.Drop(netns.Requests, 1) }, false, true},
		{"answers", func(l *netns.Line) error { return l.Drop(netns.Answers, 1) }, true, false},
		{"refused", func(l *netns.Line) error { return l.Refuse(1) }, false, true},
		{"another server", func(l *netns.Line) error { return l.Drop(netns.Requests, 0) }, true, true},
	}
	for _, c := range cuts {
		t.Run(c.name, func(t *testing.T) {
			p := connect(t)
			if !arrives(t, p.client, p.server, "before", patience) || !arrives(t, p.server, p.client, "before", patience) {
				t.Fatal("nothing arrives before it is cut")
			}
			if err := c.cut(p.line); err != nil {
				t.Fatal(err)
			}
			limit := func(passes bool) time.Duration {
				if passes {
					return patience
				}
				return 800 * time.Millisecond // TCP sends again after 200, 600, 1,400 and 3,000
			}
			if got := arrives(t, p.server, p.client, "answer", limit(c.answers)); got != c.answers {
				t.Errorf("an answer arrives: %v, want %v", got, c.answers)
			}
			if got := arrives(t, p.client, p.server, "request", limit(c.requests)); got != c.requests {
				t.Errorf("a request arrives: %v, want %v", got, c.requests)
			}
			if err := p.line.Heal(); err != nil {
				t.Fatal(err)
			}
			if _, err := p.network.CaughtUp(patience); err != nil {
				t.Fatal(err)
			}
			const now = 200 * time.Millisecond // it is there already
			if !c.requests && !arrives(t, p.client, p.server, "", now) || !c.answers && !arrives(t, p.server, p.client, "", now) {
				t.Error("what was lost has not arrived when TCP has caught up")
			}
		})
	}
}

// A connection that was slow sends again seconds after it was cut, for the first
// time: CaughtUp waits for that, too.
func TestCaughtUpWithWhatIsSlow(t *testing.T) {
	if !allowed(t, netns.Allowed) {
		return
	}
	p := connect(t,
		"ip route change $(ip -4 route show | grep via) rto_min 5s",
		"echo 0 > /proc/sys/net/ipv4/tcp_early_retrans") // it would probe sooner
	if !arrives(t, p.client, p.server, "before", patience) || !arrives(t, p.server, p.client, "before", patience) {
		t.Fatal("nothing arrives before it is cut")
	}
	if err := p.line.Drop(netns.Requests, 1); err != nil {
		t.Fatal(err)
	}
	if arrives(t, p.client, p.server, "request", 100*time.Millisecond) {
		t.Fatal("it arrives though it is cut")
	}
	if err := p.line.Heal(); err != nil {
		t.Fatal(err)
	}
	took, err := p.network.CaughtUp(patience)
	if err != nil {
		t.Fatal(err)
	}
	if took < time.Second || !arrives(t, p.client, p.server, "", 200*time.Millisecond) {
		t.Errorf("after %v what was lost has not arrived, or it was not slow", took)
	}
}

// A line that loses, delays or is narrow passes what is sent, and is as before
// when it is healed.
func TestBad(t *testing.T) {
	if !allowed(t, netns.Allowed) {
		return
	}
	bad := []struct {
		name    string
		allowed func() error
		make    func(*netns.Line) error
	}{
		{"loses", netns.Loses, func(l *netns.Line) error { return l.Lose(10) }},
		{"narrow", netns.Narrows, func(l *netns.Line) error { return l.Narrow(256) }},
		{"late", netns.Delays, func(l *netns.Line) error { return l.Delay(30, 5) }},
	}
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			if !allowed(t, c.allowed) {
				return
			}
			p := connect(t)
			for range 2 {
				if err := c.make(p.line); err != nil {
					t.Fatal(err)
				}
				for range 20 {
					if !arrives(t, p.client, p.server, strings.Repeat("x", 500), patience) {
						t.Fatal("it does not arrive")
					}
				}
				if err := p.line.Heal(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Of a process that was killed nothing is left, but for what the next one takes
// away.
func TestNothingIsLeft(t *testing.T) {
	if !allowed(t, netns.Allowed) {
		return
	}
	dead := exec.Command(os.Args[0])
	dead.Env = append(os.Environ(), leaver+"=1")
	out, err := dead.CombinedOutput()
	if dead.ProcessState.ExitCode() != -1 { // by a signal
		t.Fatalf("%v\n%s", err, out)
	}
	prefix := fmt.Sprintf("hfv%dn", dead.ProcessState.Pid())
	left := func() (names string) {
		interfaces, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range interfaces {
			if strings.HasPrefix(i.Name, prefix) {
				names += " " + i.Name
			}
		}
		return names
	}
	for end := time.Now().Add(patience); left() != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the kernel has not taken%s away", left())
		}
	}
	if out, err := exec.Command("ip", "link", "add", prefix+"7", "type", "veth", "peer", "name", prefix+"8").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	netns.Start(t, 1)
	if names := left(); names != "" {
		t.Errorf("the next network has left%s", names)
	}
}

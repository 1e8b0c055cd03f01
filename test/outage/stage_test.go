//go:build unix

// Package outage_test tests what docs/guide/08-operating.md says of outages.
package outage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// subtest is one outage; they take their time waiting, so all go on at once.
type subtest struct {
	name string
	run  func(t *testing.T)
}

// Each fault by which a server or the network can be away has a row in
// docs/guide/08-operating.md, and what stands there is so.
func TestOutages(t *testing.T) {
	t.Parallel() // with other tests that take their time
	var wg sync.WaitGroup
	for _, sub := range slices.Concat(networkAway(), longOutages(), noRoom(), shortOutages()) {
		wg.Go(func() { t.Run(sub.name, sub.run) })
	}
	wg.Wait()
}

// scene is a server behind a network that can fail, a Client that holds a name
// and another that waits for it.
type scene struct {
	server         *redistest.Server
	network        *redistest.Proxy
	driver         clienttest.Library
	ttl            time.Duration
	holder, waiter *holdfast.Client
	lease          *holdfast.Lease
	waiting        clienttest.Asked
}

const contended = "contended"

func stage(t *testing.T, d clienttest.Library, ttl time.Duration, options redistest.Options) *scene {
	t.Helper()
	server := redistest.Start(t, options)
	s := &scene{server: server, network: redistest.StartProxy(t, server.Addr()), driver: d, ttl: ttl}
	s.holder, s.waiter = s.client(t, "A", ttl), s.client(t, "B", ttl)
	s.lease = clienttest.Take(t, s.holder, contended)
	s.waiting = clienttest.Asking(context.Background(), s.waiter.Mutex(contended))
	clienttest.InQueue(t, server, contended, "B")
	return s
}

func (s *scene) client(t *testing.T, owner string, ttl time.Duration) *holdfast.Client {
	t.Helper()
	store := s.driver.Open(t, "redis://"+s.network.Addr(), clienttest.Way{})
	client := holdfast.New(store, &holdfast.Options{Owner: owner, TTL: ttl})
	t.Cleanup(func() { _ = client.Close() }) // some end with a server that does not answer
	return client
}

// unnoticed goes through a fault that is over before a ttl is: the lease is kept
// and renewed, the wait goes on and keeps its place, and what is locked in the
// meantime is only late.
func (s *scene) unnoticed(t *testing.T, fault func()) {
	t.Helper()
	before := s.lease.Deadline()
	late := make(chan clienttest.Outcome, 1)
	go func() {
		time.Sleep(50 * time.Millisecond) // in the midst of it, most often
		lease, err := s.waiter.Mutex("free").Lock(context.Background())
		late <- clienttest.Outcome{Lease: lease, Err: err}
	}()
	fault()
	healed := time.Now()
	lease := clienttest.Asked(late).Lease(t)
	if got := time.Since(healed); got > clienttest.Slack {
		t.Errorf("a lock came %v after the end of the fault", got)
	}
	clienttest.GiveBack(t, lease)
	clienttest.Eventually(t, "the lease is renewed", func() bool { return s.lease.Deadline().After(before) })
	if err := s.lease.Err(); err != nil {
		t.Errorf("the lease: got %v, want it kept", err)
	}
	clienttest.InQueue(t, s.server, contended, "B")
	if !s.waiting.Pending() {
		t.Fatalf("the wait ended: %+v", s.waiting.Answer(t))
	}
	first := s.lease.Token()
	clienttest.GiveBack(t, s.lease)
	released := time.Now()
	next := s.waiting.Lease(t)
	if got := time.Since(released); got > clienttest.Slack {
		t.Errorf("the hand-over took %v", got)
	}
	if next.Token() <= first {
		t.Errorf("token %d after %d", next.Token(), first)
	}
	clienttest.GiveBack(t, next)
}

// unreachable wants a lock of a free name to be given up after a ttl, with the
// server's word where there is one.
func (s *scene) unreachable(t *testing.T, client *holdfast.Client, ttl time.Duration, words ...string) {
	t.Helper()
	began := time.Now()
	err := clienttest.Asking(context.Background(), client.Mutex("refused")).Answer(t).Err
	took := time.Since(began)
	said := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(fmt.Sprint(err), word) })
	if !errors.Is(err, holdfast.ErrUnreachable) || errors.Is(err, holdfast.ErrHeld) || !said {
		t.Errorf("Lock: got %v, want ErrUnreachable with one of %q", err, words)
	}
	if took < ttl-ttl/10 || took > ttl+clienttest.Slack {
		t.Errorf("Lock gave up after %v, want a ttl of %v", took, ttl)
	}
}

// works locks and releases a name, soon.
func (s *scene) works(t *testing.T, clients ...*holdfast.Client) {
	t.Helper()
	for _, client := range clients {
		began := time.Now()
		clienttest.GiveBack(t, clienttest.Take(t, client, "works"))
		if got := time.Since(began); got > clienttest.Slack {
			t.Errorf("the first lock after the fault took %v", got)
		}
	}
}

// documented wants docs/guide/08-operating.md to have a row for a fault.
func documented(t *testing.T, fault string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/08-operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1], fault) {
			return
		}
	}
	t.Errorf("docs/guide/08-operating.md has no row of faults with %q", fault)
}

// console is one connection to a server that is made before others are refused.
type console struct {
	conn    net.Conn
	answers *bufio.Reader
}

func newConsole(t *testing.T, server *redistest.Server) *console {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &console{conn, bufio.NewReader(conn)}
}

// send gives a command and does not wait for the answer.
func (c *console) send(t *testing.T, command string) {
	t.Helper()
	if _, err := fmt.Fprintf(c.conn, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
}

// do gives a command whose answer is one line.
func (c *console) do(t *testing.T, command string) string {
	t.Helper()
	_ = c.conn.SetDeadline(time.Now().Add(clienttest.Patience))
	c.send(t, command)
	line, err := c.answers.ReadString('\n')
	if err != nil || strings.HasPrefix(line, "-") {
		t.Fatalf("%s: got %q, %v", command, line, err)
	}
	return strings.TrimSpace(line)
}

package drivertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
)

// RunMoved tests that a driver for one server follows an address that moves to another server: see
// [driver.Redial]. It needs the addresses of a master and of its replica, of servers without a
// password that holdfast supports. RunMoved changes their roles, several times. open must return a
// new Store for an address, each time. RunMoved takes about 20 s.
func RunMoved(t *testing.T, master, replica string, open func(t *testing.T, address string) driver.Store) {
	m := &moved{master: dialRedis(t, master), replica: dialRedis(t, replica), open: open}
	t.Run("REPLICAOF", func(t *testing.T) { m.follow(t, m.replicaOf) })
	t.Run("FAILOVER", func(t *testing.T) { m.follow(t, m.failover) })
	for _, first := range []string{"Eval", "EvalAll", "EvalWait"} {
		t.Run(first, func(t *testing.T) { m.idle(t, first) })
	}
	t.Run("Stays", m.stays)
}

// moved is two servers that change their roles.
type moved struct {
	master, replica *redisConn
	open            func(*testing.T, string) driver.Store
}

const (
	// shortest is the shortest ttl of a lease that survives.
	shortest = 3 * time.Second
	// demotedFor is how long the address leads to the old master when that is a replica already.
	demotedFor = 300 * time.Millisecond
	// soon bounds a Lock after the address has moved. It takes 1.5 s at most; a busy machine is slow.
	soon = 5 * time.Second
)

// follow keeps a lease, a waiter and a subscription over a failover.
func (m *moved) follow(t *testing.T, change func(*testing.T)) {
	e := newEndpoint(t, m.master.address)
	prefix := fmt.Sprintf("storetest-%x:", rand.Uint64())
	client := func() *holdfast.Client {
		c := holdfast.New(m.open(t, e.address()), &holdfast.Options{Prefix: prefix, TTL: shortest})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	holder, other := client(), client()
	held := lock(t, holder.Mutex("held"))
	waits := locking(t, other, "held")
	waiting(t, other, "held", 1)
	m.synced(t)

	change(t)
	early := locking(t, holder, "early")
	time.Sleep(demotedFor)
	began := time.Now()
	e.lead(m.master.address)
	release(t, early.lease(t, began))
	t.Logf("a Lock from before the address moved returned %v after", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	release(t, locking(t, other, "late").lease(t, began))
	t.Logf("a Lock of another Client returned after %v", time.Since(began).Round(time.Millisecond))

	time.Sleep(shortest)
	if err := held.Err(); err != nil {
		t.Fatalf("the held lease: %v", err)
	}
	began = time.Now()
	release(t, held)
	release(t, waits.lease(t, began))
	t.Logf("a waiter got the name %v after its release", time.Since(began).Round(time.Millisecond))
}

// asked is a Lock that goes on.
type asked chan result

type result struct {
	lease *holdfast.Lease
	err   error
}

func locking(t *testing.T, c *holdfast.Client, name string) asked {
	a := make(asked, 1)
	ctx := bounded(t)
	go func() {
		lease, err := c.Mutex(name).Lock(ctx)
		a <- result{lease, err}
	}()
	return a
}

func (a asked) lease(t *testing.T, began time.Time) *holdfast.Lease {
	t.Helper()
	r := <-a
	if r.err != nil {
		t.Fatalf("Lock: %v", r.err)
	}
	if took := time.Since(began); took > soon {
		t.Fatalf("Lock took %v, want at most %v", took, soon)
	}
	return r.lease
}

// idle has idle connections for all kinds of calls when the address moves. The first call after that
// must not meet one of them.
func (m *moved) idle(t *testing.T, first string) {
	e := newEndpoint(t, m.master.address)
	store := m.open(t, e.address())
	ctx := bounded(t)
	key := fmt.Sprintf("storetest-%x:key", rand.Uint64())
	call := driver.Call{Script: driver.NewScript("set", "return redis.call('SET', KEYS[1], 'x', 'EX', 60)"), Keys: []string{key}}
	kinds := map[string]func() error{
		"Eval": func() error { _, err := store.Eval(ctx, call); return err },
		"EvalAll": func() error {
			results := store.EvalAll(ctx, []driver.Call{call, call})
			return errors.Join(results[0].Err, results[1].Err)
		},
		"EvalWait": func() error {
			results, _, err := store.EvalWait(ctx, []driver.Call{call}, 0, time.Millisecond)
			return errors.Join(err, results[0].Err)
		},
	}
	crowd := func() error {
		var all sync.WaitGroup
		var mu sync.Mutex // protects errs
		var errs []error
		for _, run := range kinds {
			for range 16 {
				all.Go(func() {
					err := run()
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				})
			}
		}
		all.Wait()
		return errors.Join(errs...)
	}
	if err := crowd(); err != nil {
		t.Fatal(err)
	}
	sub, err := store.Subscribe(ctx, key, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	m.synced(t)

	m.replicaOf(t)
	e.lead(m.master.address)
	began := time.Now()
	if err := kinds[first](); err != nil {
		t.Errorf("the first %s after the address moved: %v", first, err)
	}
	took := time.Since(began)
	if err := crowd(); err != nil {
		t.Error(err)
	}
	t.Logf("the first call took %v, 48 more %v", took.Round(time.Millisecond), (time.Since(began) - took).Round(time.Millisecond))
	select {
	case <-sub.Done():
	case <-ctx.Done():
		t.Error("the subscription to the old server has not ended")
	}
}

// stays counts the connections while the address leads to a replica.
func (m *moved) stays(t *testing.T) {
	e := newEndpoint(t, m.replica.address)
	store := m.open(t, e.address())
	ctx := bounded(t)
	wrong := driver.Call{Script: driver.NewScript("set", "return redis.call('SET', KEYS[1], 'x', 'EX', 60)"), Keys: []string{"storetest-stays"}}
	reads := driver.Call{Script: driver.NewScript("get", "return redis.call('EXISTS', KEYS[1])"), Keys: []string{"storetest-stays"}}
	if _, err := store.Eval(ctx, wrong); !driver.WrongServer(err) {
		t.Fatalf("a write on a replica: got %v, want the refusal of the server", err)
	}
	const during, callers = 3 * time.Second, 8
	before := e.dials.Load()
	end := time.Now().Add(during)
	var all sync.WaitGroup
	var refused, read atomic.Int64
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				if _, err := store.Eval(ctx, wrong); driver.WrongServer(err) {
					refused.Add(1)
				}
				if _, err := store.Eval(ctx, reads); err == nil { // its connection may be left meanwhile
					read.Add(1)
				}
				cancel()
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	all.Wait()
	t.Logf("%d connections in %v; %d writes refused, %d reads answered", e.dials.Load()-before, during, refused.Load(), read.Load())
	if refused.Load() == 0 || read.Load() == 0 {
		t.Error("a replica refuses what writes and answers what reads, want both")
	}
	// Each time that the store leaves the server, each caller may need a connection for what it reads.
	if got, most := e.dials.Load()-before, int64(during/time.Second+1)*(callers+1); got > most {
		t.Errorf("%d connections in %v, want at most %d", got, during, most)
	}
}

// synced waits until the replica has all that was written before.
func (m *moved) synced(t *testing.T) {
	t.Helper()
	eventually(t, "the replica has everything", func() bool {
		m.master.do(t, "SET storetest-synced x EX 60")
		return m.master.do(t, "WAIT 1 100") == ":1"
	})
}

func (m *moved) replicaOf(t *testing.T) {
	t.Helper()
	m.replica.do(t, "REPLICAOF NO ONE")
	host, port, _ := net.SplitHostPort(m.replica.address)
	m.master.do(t, "REPLICAOF "+host+" "+port)
	m.swap(t)
}

func (m *moved) failover(t *testing.T) {
	t.Helper()
	if reply := m.master.do(t, "FAILOVER"); reply != "+OK" {
		t.Skip("the server cannot do it: ", reply) // before Redis 6.2
	}
	m.swap(t)
}

func (m *moved) swap(t *testing.T) {
	t.Helper()
	m.master, m.replica = m.replica, m.master
	for _, want := range []struct {
		server *redisConn
		role   string
	}{{m.replica, "slave"}, {m.master, "master"}} {
		eventually(t, want.server.address+" is the "+want.role, func() bool {
			return strings.Contains(want.server.do(t, "INFO replication"), "role:"+want.role)
		})
	}
}

// redisConn is a connection of the test itself.
type redisConn struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

func dialRedis(t *testing.T, address string) *redisConn {
	t.Helper()
	conn, err := net.Dial("tcp", address) //nolint:noctx // it is on this machine
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redisConn{address, conn, bufio.NewReader(conn)}
}

// do sends words and returns the first line of the reply, or the text.
func (a *redisConn) do(t *testing.T, words string) string {
	t.Helper()
	_, err := io.WriteString(a.conn, words+"\r\n")
	var line string
	if err == nil {
		line, err = a.reader.ReadString('\n')
	}
	line = strings.TrimSpace(line)
	var size int
	if n, _ := fmt.Sscanf(line, "$%d", &size); err == nil && n == 1 {
		text := make([]byte, size+2)
		_, err = io.ReadFull(a.reader, text)
		line = string(text)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", a.address, words, err)
	}
	return line
}

// endpoint is an address that moves: new connections reach the new server, and old ones stay.
type endpoint struct {
	listener net.Listener
	server   atomic.Value // string
	dials    atomic.Int64
}

func newEndpoint(t *testing.T, server string) *endpoint {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	e := &endpoint{listener: listener}
	e.lead(server)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			e.dials.Add(1)
			go e.serve(conn)
		}
	}()
	return e
}

func (e *endpoint) address() string    { return e.listener.Addr().String() }
func (e *endpoint) lead(server string) { e.server.Store(server) }

func (e *endpoint) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", e.server.Load().(string)) //nolint:noctx // it is on this machine
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

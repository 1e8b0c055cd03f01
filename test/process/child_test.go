//go:build unix

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
)

// childVariable holds, in the environment of a child, its setting as JSON.
const childVariable = "HOLDFAST_TEST_CHILD"

// TestMain makes this binary its own children: the lock is between processes,
// so it is tested by processes, each with the race detector if we have it.
func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if err := runChild(text, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if url := os.Getenv(exitsVariable); url != "" {
		if err := giveUpAndExit(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// setting is what a child is from its beginning: one Client.
type setting struct {
	URL    string
	Driver int // which of the drivers
	Owner  string
	TTL    time.Duration
}

// order is a line on a child's standard input. Each is carried out in a
// goroutine of its own and answered once, when it is done.
type order struct {
	Call  int    // echoed
	Do    string // lock, export, adopt, release, look, eval, watch, watched, load; serve, relock, mark, glance, recover, losses, rest; tour; campaign; multi, unmulti; users; ticks
	Name  string // lock, eval, glance
	Part  part   // lock: of a shared kind
	Owner string // lock: Mutex.Owner
	Lease int    // release, look, eval, watch, watched: the call that locked it
	Load  load
	Duty  duty      // serve
	Names []string  // mark, multi
	Since int64     // losses
	Tour  tour      // tour
	Users manyUsers // users
	Ticks ticking   // ticks
	Text  string    // adopt: what was exported
	Value string    // eval: what the key Name is set to
}

// reply is a line on a child's standard output. Which fields count depends on
// the order.
type reply struct {
	Call      int
	At        int64         // lock: granted; release: before it was called; look: then; watched: cancelled. Wall clock, ns
	Woke      bool          // watched: the process was frozen and woke up
	Took      time.Duration // watched: from then to the end of the context
	Look      string        // watched: what Err said at the first look after that
	Remaining time.Duration // look
	Token     int64         // lock
	Err       string        // what the lock said; empty: nil
	Lost      bool          // Err is ErrLost
	Cause     holdfast.Cause
	Sight     sight  // recover, losses
	Visits    int    // tour
	Text      string // export
}

// said notes what the lock said.
func (r *reply) said(err error) {
	if err == nil {
		return
	}
	r.Err = err.Error()
	r.Lost = errors.Is(err, holdfast.ErrLost)
	if lost := (*holdfast.LostError)(nil); errors.As(err, &lost) {
		r.Cause = lost.Cause
	}
}

// child is one process of a test.
type child struct {
	client  *holdfast.Client
	monitor *monitor

	writing sync.Mutex // protects answers
	answers *json.Encoder

	mu     sync.Mutex // protects the rest
	leases map[int]*holdfast.Lease
	seen   map[int]chan reply // what a watch will say
	worker *worker
}

// runChild obeys orders until its standard input ends, as it does when the
// parent is gone.
func runChild(text string, stdin io.Reader, stdout io.Writer) error {
	var s setting
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	store, err := clienttest.Drivers[s.Driver].Try(s.URL, clienttest.Way{})
	if err != nil {
		return err
	}
	c := &child{
		monitor: &monitor{Store: store},
		answers: json.NewEncoder(stdout),
		leases:  map[int]*holdfast.Lease{},
		seen:    map[int]chan reply{},
	}
	c.client = holdfast.New(c.monitor, &holdfast.Options{TTL: s.TTL, Owner: s.Owner})
	c.answer(reply{}) // ready
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		go c.obey(o)
	}
	_ = c.client.Close() // a server that is gone is the business of the test
	return store.Close()
}

func (c *child) answer(r reply) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.answers.Encode(r) // the parent may be gone
}

func (c *child) obey(o order) {
	r := reply{Call: o.Call}
	switch o.Do {
	case "lock":
		c.lock(o, &r)
	case "export":
		text, err := c.lease(o).Export()
		r.Text = text
		r.said(err)
	case "adopt":
		lease, err := c.client.Adopt(context.Background(), o.Text)
		c.locked(o, lease, err, &r)
	case "release":
		r.At = time.Now().UnixNano()
		r.said(c.lease(o).Release())
	case "look":
		r.At = time.Now().UnixNano() // first: At + Remaining is not beyond the deadline
		r.Remaining = c.lease(o).Remaining()
		r.said(c.lease(o).Err())
	case "watch":
		c.watch(o)
	case "watched":
		c.mu.Lock()
		seen := c.seen[o.Lease]
		c.mu.Unlock()
		r = <-seen
		r.Call = o.Call
	case "load":
		r.said(o.Load.run(c))
	case "eval":
		_, err := c.lease(o).Eval(context.Background(), "return redis.call('SET', KEYS[1], ARGV[1])", []string{o.Name}, []string{o.Value})
		r.said(err)
	case "tour":
		var err error
		r.Visits, err = o.Tour.run(c)
		r.said(err)
	case "campaign":
		c.campaign(o, &r)
	case "multi", "unmulti":
		c.multi(o, &r)
	case "users":
		r.said(o.Users.run(c.client))
	case "ticks":
		r.At = o.Ticks.first(c.client)
	default:
		c.obeyAtWork(o, &r)
	}
	c.answer(r)
}

func (c *child) lease(o order) *holdfast.Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leases[o.Lease]
}

func (c *child) lock(o order, r *reply) {
	lease, err := o.lock(c.client)
	c.locked(o, lease, err, r)
}

// lock takes what the order names: a part of a shared kind, or a Mutex.
func (o order) lock(client *holdfast.Client) (*holdfast.Lease, error) {
	if o.Part != (part{}) {
		return o.Part.lock(context.Background(), client, o.Name)
	}
	mutex := client.Mutex(o.Name)
	mutex.Owner = o.Owner
	return mutex.Lock(context.Background())
}

func (c *child) locked(o order, lease *holdfast.Lease, err error, r *reply) {
	r.At = time.Now().UnixNano()
	r.said(err)
	if err != nil {
		return
	}
	r.Token = lease.Token()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases[o.Call] = lease
}

// freeze is a gap between two looks at the clock by which a process knows that
// it was frozen. Tests freeze for longer.
const freeze = 1500 * time.Millisecond

// watch looks at a lease without a pause, so that its first look after the
// process was frozen comes before anything else there can have run, and waits
// for its context. It returns when it has begun.
func (c *child) watch(o order) {
	lease := c.lease(o)
	ctx := lease.Context(context.Background())
	seen := make(chan reply, 1)
	c.mu.Lock()
	c.seen[o.Lease] = seen
	c.mu.Unlock()

	type look struct {
		woke time.Duration
		err  error
	}
	began := time.Now() // what follows is monotonic: a wall clock is read apart from it
	looked := make(chan look, 1)
	looking := make(chan struct{})
	go func() {
		before := time.Since(began)
		close(looking)
		for {
			err := lease.Err()
			now := time.Since(began)
			if now-before > freeze {
				if err == nil { // that look may have been before
					err = lease.Err()
				}
				looked <- look{now, err}
				return
			} else if err != nil {
				looked <- look{err: err}
				return
			}
			before = now
		}
	}()
	go func() {
		<-ctx.Done()
		ended := time.Since(began)
		r := reply{At: time.Now().UnixNano()}
		r.said(context.Cause(ctx))
		first := <-looked
		if first.woke > 0 {
			r.Woke, r.Took = true, ended-first.woke
		}
		if first.err != nil {
			r.Look = first.err.Error()
		}
		seen <- r
	}()
	<-looking
}

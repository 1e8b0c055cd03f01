//go:build linux

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/faults/resource"
)

// process is this process.
type process struct {
	Setting
	notes     *history.Writer
	trap      *trap
	clients   []locker
	peer      peer            // in the place of clients, where one is set
	unsettled atomic.Int64    // callers that are to come to the end of an attempt
	round     atomic.Int64    // of settling
	ctx       context.Context // ends when it is to finish
}

// Run is the life of a client: it works until it is told to finish, or its
// standard input ends.
func Run(s Setting, stdin io.Reader) error {
	notes, err := history.NewWriter(s.History, s.Process)
	if err != nil {
		return err
	}
	p := &process{Setting: s, notes: notes, trap: &trap{notes: notes}}
	stores, err := p.connect()
	if err != nil {
		return err
	}
	var finish context.CancelFunc
	p.ctx, finish = context.WithCancel(context.Background())
	defer finish()
	orphaned := make(chan struct{})
	go func() {
		p.obey(stdin, finish)
		close(orphaned)
	}()
	go p.beat()
	notes.Note(history.Event{What: history.Start, Detail: s.Driver})
	fmt.Println(Ready)

	finished := make(chan error, 1)
	go func() { finished <- p.work() }()
	select {
	case err = <-finished:
	case <-orphaned:
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		notes.Note(history.Event{What: history.Trouble, Detail: err.Error()})
	}
	closed := p.close()
	class, words := classOf(closed)
	notes.Note(history.Event{What: history.Stop, Class: class, Detail: words})
	for _, store := range stores {
		_ = store.Close()
	}
	fmt.Println(Done)
	return err
}

// connect makes the Clients.
func (p *process) connect() (stores []closer, err error) {
	if p.Peer != "" && p.Peer != Holdfast {
		return nil, p.connectPeer()
	}
	for range max(1, p.Clients) {
		opened, err := p.connectOne()
		if err != nil {
			return nil, err
		}
		stores = append(stores, opened...)
	}
	return stores, nil
}

// locker is a client of one master or of a quorum.
type locker interface {
	Mutex(name string) *holdfast.Mutex
	Multi(names ...string) *holdfast.Multi
	Election(name string) *holdfast.Election
	Close() error
}

// connectOne makes a Client. A deployment that is in trouble is tried again.
func (p *process) connectOne() ([]closer, error) {
	options := &holdfast.Options{
		Prefix: p.Prefix, TTL: p.TTL, Owner: p.Process, Linger: p.Linger, WaitReplicas: p.Replicas,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	var stores []closer
	var nodes []driver.Store
	for _, url := range p.URLs {
		store, err := open(p.Driver, url, p.Quorum != "", p.trap)
		for end := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			store, err = open(p.Driver, url, p.Quorum != "", p.trap)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		stores = append(stores, store)
		nodes = append(nodes, store)
	}
	if p.Quorum != "" {
		p.clients = append(p.clients, holdfast.NewQuorum(p.Quorum, &holdfast.QuorumOptions{Prefix: p.Prefix, TTL: p.TTL, Owner: p.Process, Logger: options.Logger}, nodes...))
	} else {
		p.clients = append(p.clients, holdfast.New(nodes[0], options))
	}
	return stores, nil
}

// obey takes orders until there are no more.
func (p *process) obey(stdin io.Reader, finish func()) {
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		var o Order
		switch err := json.Unmarshal(lines.Bytes(), &o); {
		case err != nil:
			p.notes.Note(history.Event{What: history.Trouble, Detail: err.Error()})
		case o.Finish:
			finish()
		case o.Settle:
			p.settle()
		case o.Step == "":
			p.trap.disarm()
			fmt.Println(Clear)
		default:
			p.trap.armed.Store(&o)
		}
	}
}

// settle begins a round of settling.
func (p *process) settle() {
	p.unsettled.Store(int64(p.Callers))
	p.round.Add(1)
}

// beat notes when the process did not run: what comes late then is not the fault
// of the lock.
func (p *process) beat() {
	const period, late = 5 * time.Millisecond, 10 * time.Millisecond
	for last := history.Now(); ; {
		time.Sleep(period)
		now := history.Now()
		if pause := now - last; pause > int64(period+late) {
			p.notes.Note(history.Event{T: now, What: history.Stall, Version: pause})
		}
		last = now
	}
}

// work lets all callers work until the process is to finish.
func (p *process) work() error {
	var running sync.WaitGroup
	errs := make(chan error, p.Callers+len(p.Hoard))
	for i := range cap(errs) {
		running.Go(func() {
			c, err := p.newCaller(i)
			if err == nil {
				err = c.live()
			}
			if err != nil {
				errs <- err
			}
		})
	}
	running.Wait()
	close(errs)
	return <-errs
}

func (p *process) newCaller(i int) (*caller, error) {
	conn, err := resource.Dial(p.Resource)
	if err != nil {
		return nil, err
	}
	c := &caller{
		process: p, client: i % max(1, p.Clients), resource: conn, first: p.Number*Attempts + int64(i),
		random:  rand.New(rand.NewPCG(p.Seed, uint64(i))),
		targets: p.Names, mix: p.Mix, longest: p.TTL * 3 / 2, poll: 5 * time.Millisecond,
	}
	if own := i - p.Callers; own >= 0 {
		c.hoards, c.targets, c.mix = true, p.Hoard[own:own+1], Mix{Long: 1, Idle: true}
		c.longest, c.poll = 6*p.TTL, p.TTL/8
	}
	return c, nil
}

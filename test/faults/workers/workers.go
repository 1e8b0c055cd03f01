//go:build linux

package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/history"
)

// Workers is the processes of one history, and its journal: what the controller
// did, beside what they wrote. Its methods may be called from many goroutines,
// but two that concern one member must not.
type Workers struct {
	Notes *history.Writer // of the controller

	dir      string
	setting  func(member int) client.Setting
	resource *Process

	mu      sync.Mutex // protects the rest
	members []*Process
	started int // processes so far
	dead    map[string]bool
	files   []string // histories
	failed  []error
}

// Start starts the resource and so many clients, and returns when all work.
// dir is short, for a socket is in it. setting says what a member is; name,
// number, files and seed are set by the workers.
func Start(dir string, members int, setting func(member int) client.Setting) (*Workers, error) {
	c := &Workers{dir: dir, setting: setting, members: make([]*Process, members), dead: map[string]bool{}}
	var err error
	if c.Notes, err = history.NewWriter(c.File("controller"), "controller"); err != nil {
		return nil, err
	}
	if c.resource, err = start("resource", role{Resource: &address{c.socket(), c.File("resource")}}); err != nil {
		return nil, err
	}
	if err := c.resource.heard(client.Ready, patience); err != nil {
		c.End()
		return nil, err
	}
	var starting sync.WaitGroup
	for i := range members {
		starting.Go(func() { c.Replace(i) })
	}
	starting.Wait()
	if err := c.Err(); err != nil {
		c.End()
		return nil, err
	}
	return c, nil
}

func (c *Workers) socket() string { return filepath.Join(c.dir, "resource") }

// File is where a process writes its history.
func (c *Workers) File(process string) string {
	name := filepath.Join(c.dir, process+".jsonl")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, name)
	return name
}

// Files are the histories of all processes, the controller's first.
func (c *Workers) Files() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.files...)
}

// Err is what went wrong with the harness, not with the lock.
func (c *Workers) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.failed...)
}

func (c *Workers) fail(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, err)
}

// Size is how many members there are.
func (c *Workers) Size() int { return len(c.members) }

func (c *Workers) member(i int) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[i]
}

// Name is that of the process that is the member now.
func (c *Workers) Name(i int) string {
	if p := c.member(i); p != nil {
		return p.Name
	}
	return ""
}

// Dead reports whether a process was killed.
func (c *Workers) Dead(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead[name]
}

// Replace starts a process as the member, in the place of one that is gone, and
// returns when it works.
func (c *Workers) Replace(i int) {
	c.mu.Lock()
	c.started++
	number := c.started
	c.mu.Unlock()
	s := c.setting(i)
	s.Number, s.Process = int64(number), fmt.Sprintf("m%d.%d", i, number)
	s.History, s.Resource = c.File(s.Process), c.socket()
	s.Seed += uint64(number) << 32
	p, err := start(s.Process, role{Client: &s})
	if err != nil {
		c.fail(err)
		return
	}
	c.mu.Lock()
	c.members[i] = p
	c.mu.Unlock()
	c.fail(p.heard(client.Ready, patience))
}

// reach is how long a step is waited for. One that is not reached is no fault.
const reach = 600 * time.Millisecond

// Freeze stops a member at a step, and reports whether it was reached. On true,
// Thaw.
func (c *Workers) Freeze(i int, step client.Step) bool {
	p := c.member(i)
	if step == client.Anywhere {
		c.fail(p.signal(syscall.SIGSTOP))
	} else if !c.reached(p, client.Order{Step: step}) {
		return false
	}
	c.fail(p.stopped(patience))
	c.Notes.Note(history.Event{What: history.Freeze, Process: p.Name, Detail: string(step)})
	return true
}

// Thaw lets a member go on.
func (c *Workers) Thaw(i int) {
	p := c.member(i)
	c.Notes.Note(history.Event{What: history.Thaw, Process: p.Name})
	c.fail(p.signal(syscall.SIGCONT))
}

// Kill ends a member at a step, and reports whether it was reached. On true,
// Replace.
func (c *Workers) Kill(i int, step client.Step) bool {
	p := c.member(i)
	if step != client.Anywhere && !c.reached(p, client.Order{Step: step, Kill: true}) {
		return false
	}
	p.kill()
	c.mu.Lock()
	c.dead[p.Name] = true
	c.mu.Unlock()
	c.Notes.Note(history.Event{What: history.Crash, Process: p.Name, Detail: string(step)})
	return true
}

// reached orders a process to stop or kill itself at a step, and waits for that.
func (c *Workers) reached(p *Process, o client.Order) bool {
	if err := p.order(o); err != nil {
		c.fail(fmt.Errorf("%s: %w", p.Name, err))
		return false
	}
	select {
	case <-p.said[client.Reached]:
		return true
	case <-time.After(reach):
	}
	p.disarmed++
	if err := p.order(client.Order{}); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) { // else it has just killed itself
		c.fail(err)
	}
	// It may spring in this very moment, and then answers that order when it goes on.
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-p.said[client.Reached]:
			return true
		case <-time.After(time.Millisecond):
		}
		if p.cleared.Load() < p.disarmed {
			continue
		}
		select { // said before
		case <-p.said[client.Reached]:
			return true
		default:
			return false
		}
	}
	c.fail(fmt.Errorf("%s takes no orders", p.Name))
	return false
}

// Settle waits until every caller has come to the end of what it was at, but not
// for longer than the limit.
func (c *Workers) Settle(limit time.Duration) {
	var settling sync.WaitGroup
	for _, p := range c.members {
		settling.Go(func() {
			c.fail(p.order(client.Order{Settle: true}))
			_ = p.heard(client.Settled, limit) // the checkers say what it means if not
		})
	}
	settling.Wait()
}

// Finish lets the clients give back what they hold and end, and says what was
// wrong with them.
func (c *Workers) Finish() error {
	var ending sync.WaitGroup
	for _, p := range c.members {
		ending.Go(func() {
			c.fail(p.order(client.Order{Finish: true}))
			if err := p.heard(client.Done, patience); err != nil {
				c.fail(err)
				return
			}
			<-p.ended
			c.fail(p.complaint())
		})
	}
	ending.Wait()
	return c.Err()
}

// End kills all that still runs, and closes the journal.
func (c *Workers) End() {
	for _, p := range append(c.members, c.resource) {
		if p != nil {
			p.kill()
		}
	}
	if err := c.Notes.Close(); err != nil {
		c.fail(err)
	}
}

package holdfast

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// Details describe the process of a Client to people. Users with read access to Redis
// can read them, so they must hold no secret. Users with write access can forge them.
// All fields may be empty. Unprintable characters become "_", and each field is cut to
// [MaxDetail] bytes.
type Details struct {
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	User    string `json:"user,omitempty"`
	Program string `json:"program,omitempty"` // file name of the program
	Command string `json:"command,omitempty"` // command that runs while the name is held
	Note    string `json:"note,omitempty"`    // any help: a ticket, a team, a link to a log
}

// MaxDetail is the longest field of [Details], in bytes.
const MaxDetail = 256

// ProcessDetails returns host, pid, user and program of this process, as far as they
// are known. Command and Note are empty.
func ProcessDetails() *Details {
	d := &Details{PID: os.Getpid(), Program: filepath.Base(os.Args[0])}
	d.Host, _ = os.Hostname()
	d.User = os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		d.User = u.Username
	}
	return d
}

// clean is a copy that is safe to read and not too long.
func (d *Details) clean() *Details {
	return &Details{
		Host: keyspace.Clean(d.Host, MaxDetail), PID: max(0, d.PID), User: keyspace.Clean(d.User, MaxDetail),
		Program: keyspace.Clean(d.Program, MaxDetail), Command: keyspace.Clean(d.Command, MaxDetail), Note: keyspace.Clean(d.Note, MaxDetail),
	}
}

const (
	detailsEvery = 20 * time.Minute // how often they are written while a name is held or waited for
	detailsLife  = time.Hour        // how long they outlive that, beyond the ttl
	detailsWait  = 250 * time.Millisecond
	mostDetails  = 256 // Clients that one Inspect asks about
	mostExports  = 32  // exported tenures that a Client tells of, the newest
)

// badge is what a Client tells of itself. Nothing waits for it, and nothing fails with
// it.
type badge struct {
	c      *core
	about  badgeText
	text   string // about, as it is written
	due    bool   // a write is on its way that will read text
	told   bool   // it was sent, less than detailsEvery ago
	sent   bool   // it was ever sent
	warned bool
	order  chan struct{} // of 1: who writes; what is older must not come last
}

// badgeText is what is written.
type badgeText struct {
	Details
	Exported []string `json:"exported,omitempty"` // hashes of tenures that no process renews by itself
}

func (c *core) newBadge(d *Details) *badge {
	if d == nil {
		return nil
	}
	b := &badge{c: c, about: badgeText{Details: *d.clean()}, order: make(chan struct{}, 1)}
	b.compose()
	return b
}

func (b *badge) compose() {
	text, err := json.Marshal(b.about)
	if err != nil { // strings and a number
		panic("holdfast: " + err.Error())
	}
	b.text = string(text)
}

// exported is called with each tenure that is given away, and tells that for as long as
// the details live, which is longer than this Client.
func (b *badge) exported(id string) {
	if b == nil {
		return
	}
	b.about.Exported = append(b.about.Exported, keyspace.HashID(id))
	b.about.Exported = b.about.Exported[max(0, len(b.about.Exported)-mostExports):]
	b.compose()
	b.send()
}

// show is called with each grant and each place in line.
func (b *badge) show(now clock.Instant) {
	if b == nil || b.told || b.c.closed {
		return
	}
	b.told = true
	b.send()
	b.c.later(now.Add(detailsEvery), func(now clock.Instant) {
		b.told = false
		if len(b.c.lines) > 0 {
			b.show(now)
		}
	})
}

func (b *badge) send() {
	b.sent = true
	if b.due { // a server that exports faster than Redis answers piles up no writes
		return
	}
	b.due = true
	b.c.after = append(b.c.after, func() { go b.write() })
}

func (b *badge) call(text string) driver.Call {
	life := detailsLife + b.c.options.TTL
	return driver.Call{Script: script.DetailsNote, Keys: []string{keyspace.Details(b.c.client)}, Args: []string{text, itoa(life.Milliseconds())}}
}

// write tries once; the next time is detailsEvery later.
func (b *badge) write() {
	c := b.c
	b.order <- struct{}{}
	defer func() { <-b.order }()
	c.mu.Lock()
	text, closed := b.text, c.closed
	b.due = false
	c.mu.Unlock()
	if closed { // takenAway has the last word
		return
	}
	_, err := c.calls.Run(c.ctx, c.options.attempt(), b.call(text))
	c.mu.Lock()
	defer c.unlock()
	if err == nil || c.closed || b.warned {
		return
	}
	b.warned = true
	if said, ok := wire.AsServerError(err); ok {
		err = wire.Explain(said, "")
	}
	c.warn("holdfast: could not write Options.Details; locks work without them", "error", err)
}

// takenAway takes the details away, and closes what it returns when that is done or
// ctx has ended. What was exported lives on, and so does what is told of it.
func (b *badge) takenAway(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if b == nil || !b.sent {
		close(done)
		return done
	}
	b.c.mu.Lock()
	text := ""
	if len(b.about.Exported) > 0 {
		text = b.text
	}
	b.c.mu.Unlock()
	go func() {
		defer close(done)
		select {
		case b.order <- struct{}{}:
			defer func() { <-b.order }()
		case <-time.After(detailsWait):
		}
		_, _ = b.c.calls.Run(ctx, detailsWait, b.call(text)) // it expires
	}()
	return done
}

// String returns a text like "alice, pid 4121 on web-3", as far as it is known.
func (d *Details) String() string {
	if d == nil {
		return ""
	}
	var parts []string
	if d.User != "" {
		parts = append(parts, d.User)
	}
	if d.PID > 0 {
		parts = append(parts, "pid "+itoa(int64(d.PID)))
	}
	text := strings.Join(parts, ", ")
	if d.Host == "" {
		return cmp.Or(text, d.Program)
	}
	return strings.TrimSpace(text + " on " + d.Host)
}

//go:build unix

package process_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
)

// load is what a child does when it works: callers take one name in turns and
// count in a plain file, with nothing but the lock between them.
type load struct {
	Name    string
	Process int // its number
	Callers int
	Total   int    // of all processes together
	Counter string // file with the count: read, one more, written
	Journal string // file to which each holder appends a line while it holds
	Stop    string // file that, when it is there, ends it before the total
	Records string // file for this process's turns, written at the end
}

// turn is one acquisition. Its times are readings of one process's monotonic
// clock, and are compared with those of the same process only.
type turn struct {
	Process, Caller int
	Token           int64
	Called          time.Duration // before Lock was called
	Waiting         int           // callers in the queue behind it here, while it held
	Looked          time.Duration // after that look
	Got             int64         // when Lock had returned, by the wall clock in ns
}

// run is the child's side: it returns when Total is reached.
func (l load) run(c *child) error {
	began := time.Now()
	turns := make([][]turn, l.Callers)
	errs := make(chan error, l.Callers)
	for i := range l.Callers {
		go func() {
			for {
				u, done, err := l.turn(c, i, began)
				if err != nil || done {
					errs <- err
					return
				}
				turns[i] = append(turns[i], u)
			}
		}()
	}
	var first error
	for range l.Callers {
		first = cmp.Or(first, <-errs)
	}
	if first != nil {
		return first
	}
	text, err := json.Marshal(slices.Concat(turns...))
	if err != nil {
		return err
	}
	return os.WriteFile(l.Records, text, 0o600)
}

func (l load) turn(c *child, caller int, began time.Time) (u turn, done bool, err error) {
	u = turn{Process: l.Process, Caller: caller, Called: time.Since(began)}
	lease, err := c.client.Mutex(l.Name).Lock(context.Background())
	if err != nil {
		return u, false, fmt.Errorf("lock: %w", err)
	}
	u.Token, u.Got = lease.Token(), time.Now().UnixNano()
	done, err = l.count(u)
	if err == nil {
		u.Waiting, err = l.look(c)
		u.Looked = time.Since(began)
	}
	if released := lease.Release(); err == nil && released != nil {
		err = fmt.Errorf("release: %w", released)
	}
	return u, done, err
}

// count is what the holder does. done: all is counted already.
func (l load) count(u turn) (done bool, err error) {
	n, err := counted(l.Counter)
	if err != nil || n >= l.Total {
		return err == nil, err
	}
	if _, err := os.Stat(l.Stop); err == nil {
		return true, nil
	}
	// Not truncated: some file systems wait for the disk then, and a count only
	// gets longer.
	if err := write(l.Counter, 0, strconv.Itoa(n+1)); err != nil {
		return false, err
	}
	return false, write(l.Journal, os.O_APPEND, fmt.Sprintln(u.Process, u.Caller, u.Token))
}

func write(file string, flag int, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|flag, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

func counted(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, fmt.Errorf("counter: %w", err)
	}
	return n, nil
}

// look is how many callers wait in the queue in this process. A TryLock of the
// holder's own process is answered there and changes nothing.
func (l load) look(c *child) (int, error) {
	lease, err := c.client.Mutex(l.Name).TryLock(context.Background())
	if err == nil {
		return 0, errors.Join(errors.New("trylock: got the name beside its holder"), lease.Release())
	}
	if held := (*holdfast.HeldError)(nil); errors.As(err, &held) {
		return held.Waiters, nil
	}
	return 0, fmt.Errorf("trylock: %w", err)
}

// newLoad makes the files of a load in which every process of the test has a
// part.
func newLoad(t *testing.T, name string, callers, total int) load {
	t.Helper()
	dir := t.TempDir()
	l := load{
		Name: name, Callers: callers, Total: total,
		Counter: filepath.Join(dir, "counter"),
		Journal: filepath.Join(dir, "journal"),
		Stop:    filepath.Join(dir, "stop"),
		Records: filepath.Join(dir, "records"),
	}
	for file, text := range map[string]string{l.Counter: "0", l.Journal: ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// of is the part of one process.
func (l load) of(process int) load {
	l.Process = process
	l.Records = fmt.Sprint(l.Records, process)
	return l
}

// check proves that no two processes were in at once: the count is exact and
// the journal, which is in the order of holding, has every turn once, with
// tokens that rise. It returns the turns in that order.
func (l load) check(t *testing.T, processes int) []turn {
	t.Helper()
	if n, err := counted(l.Counter); err != nil || n != l.Total {
		t.Errorf("counted: got %d, %v, want %d", n, err, l.Total)
	}
	tokens := check{t: t, rule: "tokens"}
	known := map[int64]turn{}
	for i := range processes {
		text, err := os.ReadFile(l.of(i).Records)
		if err != nil {
			t.Fatal(err)
		}
		var turns []turn
		if err := json.Unmarshal(text, &turns); err != nil {
			t.Fatal(err)
		}
		for _, u := range turns {
			if twin, twice := known[u.Token]; twice {
				tokens.errorf("%d was given to %d/%d and to %d/%d", u.Token, twin.Process, twin.Caller, u.Process, u.Caller)
			}
			known[u.Token] = u
		}
	}
	text, err := os.ReadFile(l.Journal)
	if err != nil {
		t.Fatal(err)
	}
	var order []turn
	for line := range bytes.Lines(text) {
		var u turn
		if _, err := fmt.Sscan(string(line), &u.Process, &u.Caller, &u.Token); err != nil {
			t.Fatalf("journal: line %q: %v", line, err)
		}
		if n := len(order); n > 0 && u.Token <= order[n-1].Token {
			tokens.errorf("turn %d: got %d of %d/%d after %d of %d/%d, want a greater one", n,
				u.Token, u.Process, u.Caller, order[n-1].Token, order[n-1].Process, order[n-1].Caller)
		}
		order = append(order, known[u.Token])
	}
	if len(order) != l.Total || len(known) != l.Total {
		t.Errorf("got %d turns in the journal and %d on record, want %d", len(order), len(known), l.Total)
	}
	return order
}

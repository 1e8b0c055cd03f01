//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// tour is what a child does when its callers visit many names.
type tour struct {
	Names   int
	Hot     int // the first of them, that half of the visits go to
	Callers int
	Stop    string // file that appears when it is time to end
	Inside  string // directory with a file for each name that somebody is in
	Journal string // directory with a file for each name: the tokens in the order of holding
}

func (o tour) name(i int) string { return fmt.Sprint("tour", i) }

// run visits until the end, and says how often and what was wrong.
func (o tour) run(c *child) (visits int, err error) {
	var n atomic.Int64
	var mu sync.Mutex // protects errs
	var errs []error
	var callers sync.WaitGroup
	for i := range o.Callers {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(i)))
			for broken := 0; broken < 3; {
				if _, err := os.Stat(o.Stop); err == nil {
					return
				}
				name := random.IntN(o.Names)
				if random.IntN(2) == 0 {
					name = random.IntN(o.Hot)
				}
				if err := o.visit(c, name, random); err != nil {
					broken++
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
				n.Add(1)
			}
		})
	}
	callers.Wait()
	return int(n.Load()), errors.Join(errs...)
}

func (o tour) visit(c *child, i int, random *rand.Rand) error {
	name := o.name(i)
	lease, err := c.client.Mutex(name).Lock(context.Background())
	if err != nil {
		return fmt.Errorf("lock of %s: %w", name, err)
	}
	err = o.stay(name, lease.Token(), time.Duration(random.IntN(3000))*time.Microsecond)
	if lost := lease.Err(); lost != nil {
		err = errors.Join(err, fmt.Errorf("inside %s: %w", name, lost))
	}
	if released := lease.Release(); released != nil {
		err = errors.Join(err, fmt.Errorf("release of %s: %w", name, released))
	}
	return err
}

// stay is alone there, or says so.
func (o tour) stay(name string, token int64, d time.Duration) error {
	inside := filepath.Join(o.Inside, name)
	f, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("overlap: %w", err)
	}
	_ = f.Close() // empty
	time.Sleep(d)
	if err := write(filepath.Join(o.Journal, name), os.O_APPEND|os.O_CREATE, fmt.Sprintln(token)); err != nil {
		return err
	}
	return os.Remove(inside)
}

//go:build unix

package journal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/holdfast-go/holdfast/rueidisstore"
	launcher "github.com/holdfast-go/holdfast/test/support/child"
)

// childVariable holds, in the environment of a child, its setting as JSON.
const childVariable = "HOLDFAST_TEST_JOURNALED"

type setting struct {
	URL, Owner string
	TTL        time.Duration
}

// TestMain makes this binary its own children.
func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	if err := beChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// beChild is one process with a Client and a Writer. It obeys lines until its
// standard input ends, as it does when the parent is gone, and answers each:
// "lock NAME", "release NAME", "tour LEASES NAMES", "end".
func beChild(text string) error {
	var s setting
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	store, err := rueidisstore.Open(s.URL, nil)
	if err != nil {
		return err
	}
	w := journal.NewWriter(store, &journal.Options{Owner: s.Owner})
	client := holdfast.New(store, &holdfast.Options{Owner: s.Owner, TTL: s.TTL, OnEvent: w.OnEvent})
	leases := map[string]*holdfast.Lease{}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		var err error
		switch words[0] {
		case "lock":
			leases[words[1]], err = client.Mutex(words[1]).Lock(context.Background())
		case "release":
			err = leases[words[1]].Release()
		case "tour":
			err = tour(client, words[1], words[2:])
		case "end":
			if err = client.Close(); err == nil {
				err = w.Flush(context.Background())
			}
		}
		fmt.Println(words[0], err)
	}
	_ = w.Close()
	return store.Close()
}

// tour has two goroutines take each name so many times, a millisecond each.
func tour(client *holdfast.Client, leases string, names []string) error {
	var n int
	if _, err := fmt.Sscan(leases, &n); err != nil {
		return err
	}
	var running sync.WaitGroup
	errs := make(chan error, 2*len(names))
	for _, name := range append(names, names...) {
		running.Go(func() {
			for range n {
				lease, err := client.Mutex(name).Lock(context.Background())
				if err == nil {
					time.Sleep(time.Millisecond)
					err = lease.Release()
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		})
	}
	running.Wait()
	for range 2 * len(names) {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// child is such a process, seen from outside.
type child struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      interface{ Write([]byte) (int, error) }
	answers chan string
}

func startChild(t *testing.T, s setting) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self), answers: make(chan string, 16)}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	if err := launcher.Launch(c.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.answers <- lines.Text()
		}
		close(c.answers)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // frozen or not
		for range c.answers {    // its last words
		}
		_ = c.cmd.Wait()
	})
	c.expect("ready")
	return c
}

func (c *child) say(line string) {
	c.t.Helper()
	if _, err := c.in.Write([]byte(line + "\n")); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) expect(want string) {
	c.t.Helper()
	select {
	case got := <-c.answers:
		if got != want {
			c.t.Fatalf("a child said %q, want %q", got, want)
		}
	case <-time.After(patience):
		c.t.Fatalf("a child did not say %q", want)
	}
}

// do has it obey a line and waits until it has.
func (c *child) do(line string) {
	c.t.Helper()
	c.say(line)
	verb, _, _ := strings.Cut(line, " ")
	c.expect(verb + " <nil>")
}

func (c *child) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

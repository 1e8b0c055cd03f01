//go:build unix

// Package process_test runs holders and waiters as processes of their own, kills and
// freezes them, and takes their servers away.
package process_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	launcher "github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/clienttest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// process is a child seen from its test.
type process struct {
	t      *testing.T
	owner  string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	done   chan struct{} // closed when it has ended and was waited for
	stderr bytes.Buffer  // to be read after done
	killed bool
	ready  call

	mu    sync.Mutex // protects the rest
	calls int
	open  map[int]chan reply
}

// call is an order that a child was given.
type call struct {
	p      *process
	number int
	answer chan reply
}

// startProcesses starts a child for each owner, with the drivers in turn, and
// returns when all can be given orders. They end with the test, and then must not have had anything to
// complain of.
func startProcesses(t *testing.T, server *redistest.Server, ttl time.Duration, owners ...string) []*process {
	t.Helper()
	all := make([]*process, len(owners))
	for i, owner := range owners {
		all[i] = startProcess(t, setting{URL: server.URL(), Driver: i % len(clienttest.Drivers), Owner: owner, TTL: ttl})
	}
	for _, p := range all {
		p.ready.wait()
	}
	return all
}

func startProcess(t *testing.T, s setting) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, owner: s.Owner, cmd: exec.Command(self), done: make(chan struct{})}
	p.ready = call{p: p, answer: make(chan reply, 1)}
	p.open = map[int]chan reply{0: p.ready.answer}
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(text),
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")) // else each takes a second to end
	p.cmd.Stderr = &p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Launch(p.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.read(stdout)
		_ = p.cmd.Wait() // ProcessState has what is to be known
		close(p.done)
	}()
	t.Cleanup(p.end)
	return p
}

// read brings the answers to those who wait for them, until there are no more.
func (p *process) read(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // not ours: the test that waits will tell
		}
		p.mu.Lock()
		answer := p.open[r.Call]
		delete(p.open, r.Call)
		p.mu.Unlock()
		if answer != nil {
			answer <- r
		}
	}
}

// end ends the process if the test has not, and says what was wrong with it.
func (p *process) end() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(clienttest.Patience):
		p.t.Errorf("%s: did not end", p.owner)
		_ = p.cmd.Process.Kill() // it may have ended now
		<-p.done
	}
	if !p.killed && !p.cmd.ProcessState.Success() || strings.Contains(p.stderr.String(), "DATA RACE") {
		p.t.Errorf("%s: %v\n%s", p.owner, p.cmd.ProcessState, &p.stderr)
	} else if p.t.Failed() && p.stderr.Len() > 0 {
		p.t.Logf("%s said:\n%s", p.owner, &p.stderr)
	}
}

// kill ends the process as kill -9 does, and returns when it is gone.
func (p *process) kill() {
	p.t.Helper()
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// freeze stops the process as it stands, and returns when it has stopped.
func (p *process) freeze() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	clienttest.Eventually(p.t, p.owner+" stops", func() bool {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		return err == nil && status.Stopped()
	})
}

func (p *process) thaw() {
	p.t.Helper()
	p.signal(syscall.SIGCONT)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// order gives an order and does not wait for the answer.
func (p *process) order(o order) call {
	p.t.Helper()
	c := call{p: p, answer: make(chan reply, 1)}
	p.mu.Lock()
	p.calls++
	o.Call, c.number = p.calls, p.calls
	p.open[o.Call] = c.answer
	p.mu.Unlock()
	if err := json.NewEncoder(p.stdin).Encode(o); err != nil {
		p.t.Fatalf("%s: %v", p.owner, err)
	}
	return c
}

func (p *process) lock(name string) call {
	p.t.Helper()
	return p.order(order{Do: "lock", Name: name})
}

// wait returns the answer.
func (c call) wait() reply {
	c.p.t.Helper()
	return c.within(clienttest.Patience)
}

func (c call) within(d time.Duration) reply {
	c.p.t.Helper()
	select {
	case r := <-c.answer:
		return r
	case <-c.p.done:
		c.p.t.Fatalf("%s ended: %v", c.p.owner, c.p.cmd.ProcessState)
	case <-time.After(d):
		c.p.t.Fatalf("%s: no answer to order %d within %v", c.p.owner, c.number, d)
	}
	panic("unreachable")
}

// pending reports whether the answer is still to come. One that has come stays
// for wait.
func (c call) pending() bool { return len(c.answer) == 0 }

// held waits for a call of lock and makes sure that it has the lease.
func (c call) held() reply {
	c.p.t.Helper()
	r := c.wait()
	if r.Err != "" {
		c.p.t.Fatalf("%s: lock: got %s, want a lease", c.p.owner, r.Err)
	}
	return r
}

// about gives an order that concerns the lease of this call.
func (c call) about(do string) reply {
	c.p.t.Helper()
	return c.p.order(order{Do: do, Lease: c.number}).wait()
}

// release gives the lease of this call back and wants no complaint.
func (c call) release() reply {
	c.p.t.Helper()
	r := c.about("release")
	if r.Err != "" {
		c.p.t.Errorf("%s: release: got %s, want nil", c.p.owner, r.Err)
	}
	return r
}

// lost wants to hear that the lease of this call was lost.
func (c call) lost(do string) reply {
	c.p.t.Helper()
	r := c.about(do)
	if !r.Lost {
		c.p.t.Errorf("%s: %s: got %q, want ErrLost", c.p.owner, do, r.Err)
	}
	return r
}

// contend lets the first process hold the name and the others wait in the queue for
// it, in their order.
func contend(t *testing.T, server *redistest.Server, name string, processes []*process) []call {
	t.Helper()
	var calls []call
	var owners []string
	for i, p := range processes {
		c := p.lock(name)
		calls = append(calls, c)
		if i == 0 {
			clienttest.Eventually(t, "the first gets the name", func() bool { return !c.pending() })
			continue
		}
		owners = append(owners, p.owner)
		clienttest.InQueue(t, server, name, owners...)
	}
	return calls
}

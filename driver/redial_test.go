package driver_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
)

var (
	errReplica = driver.ServerError("READONLY You can't write against a read only replica.")
	writes     = driver.Call{Script: driver.NewScript("writes", "1")}
	reads      = driver.Call{Script: driver.NewScript("reads", "2")}
)

// moving is a server behind an address that moves, seen from a driver.
type moving struct {
	redial driver.Redial

	mu      sync.Mutex // protects the rest
	right   bool       // the address leads to the master
	onRight bool       // so does the connection of the driver
	sent    int
	left    []time.Time
}

func newMoving() *moving {
	m := &moving{}
	m.redial.Leave = func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.onRight = m.right
		m.left = append(m.left, time.Now())
	}
	return m
}

func (m *moving) move() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.right = true
}

func (m *moving) answer(call driver.Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent++
	if call.Script == writes.Script && !m.onRight {
		return errReplica
	}
	return nil
}

func (m *moving) eval(ctx context.Context, call driver.Call) error {
	_, err := m.redial.Run(ctx, call, func() ([]string, error) { return nil, m.answer(call) })
	return err
}

func (m *moving) count() (sent, left int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent, len(m.left)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// The first refusal leaves the connections, and the call is sent again.
func TestRedialSendsAgain(t *testing.T) {
	m := newMoving()
	m.move()
	if err := m.eval(t.Context(), writes); err != nil {
		t.Errorf("got %v, want an answer of the new server", err)
	}
	if sent, left := m.count(); sent != 2 || left != 1 {
		t.Errorf("sent %d times, left %d times, want 2 and 1", sent, left)
	}
}

// While the address leads to a replica, one call a second is sent on a new connection, and the
// others are not sent. When it has moved, a call that waits is answered by the new server.
func TestRedialLeavesOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving()
		began := time.Now()
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				for time.Since(began) < 9500*time.Millisecond {
					if err := m.eval(within(t, 300*time.Millisecond), writes); err != errReplica { //nolint:errorlint // as it came
						t.Errorf("got %v, want the refusal", err)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		callers.Wait()
		sent, left := m.count()
		if left != 10 {
			t.Errorf("left %d times in 9.5 s, want 10", left)
		}
		if sent > left+5 { // at first each caller finds out by itself
			t.Errorf("sent %d times, want at most 5 beside one on each new connection", sent)
		}
		for i, at := range m.left[1:] {
			if pause := at.Sub(m.left[i]); pause < time.Second {
				t.Errorf("left again after %v, want 1s", pause)
			}
		}
		m.move()
		moved := time.Now()
		if err := m.eval(within(t, 2*time.Second), writes); err != nil || time.Since(moved) > time.Second {
			t.Errorf("got %v after %v, want an answer within 1s", err, time.Since(moved))
		}
	})
}

// A call that cannot wait for the next attempt returns at once.
func TestRedialDoesNotWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving()
		_ = m.eval(t.Context(), writes)
		began := time.Now()
		if err := m.eval(within(t, 900*time.Millisecond), writes); err != errReplica || time.Since(began) > 0 { //nolint:errorlint // as it came
			t.Errorf("got %v after %v, want the refusal at once", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if err := m.eval(ctx, writes); err == nil || time.Since(began) != 100*time.Millisecond {
			t.Errorf("got %v after %v, want an error at the cancel", err, time.Since(began))
		}
	})
}

// A script that the replica has not refused is sent, and changes nothing.
func TestRedialSendsWhatReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving()
		_ = m.eval(t.Context(), writes)
		before, _ := m.count()
		for range 10 {
			if err := m.eval(within(t, time.Millisecond), reads); err != nil {
				t.Errorf("got %v, want an answer", err)
			}
		}
		if sent, left := m.count(); sent != before+10 || left != 1 {
			t.Errorf("sent %d, left %d times, want 10 and 1", sent-before, left)
		}
		if err := m.eval(within(t, time.Millisecond), writes); err != errReplica { //nolint:errorlint // as it came
			t.Errorf("got %v, want the refusal", err)
		}
	})
}

// A refusal that comes after the connections were left for better ones is about the old server: the
// call is sent again and leaves nothing.
func TestRedialLateRefusal(t *testing.T) {
	m := newMoving()
	m.move()
	late := make(chan struct{})
	done := make(chan error)
	began := make(chan struct{})
	first := true
	go func() {
		_, err := m.redial.Run(t.Context(), writes, func() ([]string, error) {
			if first {
				first = false
				close(began)
				<-late
				return nil, errReplica
			}
			return nil, m.answer(writes)
		})
		done <- err
	}()
	<-began
	if err := m.eval(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
	close(late)
	if err := <-done; err != nil {
		t.Errorf("got %v, want an answer", err)
	}
	if _, left := m.count(); left != 1 {
		t.Errorf("left %d times, want once", left)
	}
}

// RunAll sends again only what was refused, and keeps the order of the results.
func TestRedialRunAll(t *testing.T) {
	m := newMoving()
	m.move()
	var sent [][]driver.Call
	send := func(calls []driver.Call) []driver.Result {
		sent = append(sent, calls)
		results := make([]driver.Result, len(calls))
		for i, call := range calls {
			results[i] = driver.Result{Reply: call.Args, Err: m.answer(call)}
		}
		return results
	}
	call := func(of driver.Call, arg string) driver.Call { of.Args = []string{arg}; return of }
	calls := []driver.Call{call(reads, "0"), call(writes, "1"), call(reads, "2"), call(writes, "3")}
	for i, result := range m.redial.RunAll(t.Context(), calls, send) {
		if result.Err != nil || !slices.Equal(result.Reply, calls[i].Args) {
			t.Errorf("call %d: got %+v, want its own answer", i, result)
		}
	}
	if len(sent) != 2 || len(sent[0]) != 4 || len(sent[1]) != 2 {
		t.Errorf("sent %v, want all, then the two that were refused", sent)
	}
}

// If nothing is sent, each call gets the refusal.
func TestRedialRunAllRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving()
		_ = m.eval(t.Context(), writes)
		results := m.redial.RunAll(within(t, time.Millisecond), []driver.Call{writes, writes}, func([]driver.Call) []driver.Result {
			t.Error("sent to a replica that refuses it")
			return make([]driver.Result, 2)
		})
		if len(results) != 2 || results[0].Err != errReplica || results[1].Err != errReplica { //nolint:errorlint // as it came
			t.Errorf("got %+v, want two refusals", results)
		}
	})
}

// Without Leave every answer is returned as it is.
func TestRedialOfOthers(t *testing.T) {
	m := newMoving()
	m.redial.Leave = nil
	if err := m.eval(t.Context(), writes); err != errReplica { //nolint:errorlint // as it came
		t.Errorf("got %v, want the refusal", err)
	}
	if sent, _ := m.count(); sent != 1 {
		t.Errorf("sent %d times, want once", sent)
	}
}

// Subscriptions end when a new connection has reached the new server: also those that were dialed
// just before the address moved. While it leads to a replica, a new subscription would be no better.
func TestRedialEndsSubscriptions(t *testing.T) {
	var channels driver.Channels
	subscribe := func() driver.Subscription {
		sub, err := channels.Subscribe(t.Context(), "", func(r *driver.Receiver) driver.ChannelConn { return confirming{r} }, "c", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	m := newMoving()
	m.redial.Channels = &channels
	old := subscribe()
	if err := m.eval(t.Context(), writes); err == nil {
		t.Fatal("the address has not moved")
	}
	select {
	case <-old.Done():
		t.Error("a subscription ended, and there is no better one")
	default:
	}
	m.move()
	var between driver.Subscription
	_, err := m.redial.Run(t.Context(), writes, func() ([]string, error) {
		between = subscribe()
		return nil, m.answer(writes)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []driver.Subscription{old, between} {
		select {
		case <-sub.Done():
		default:
			t.Error("a subscription from before the first answer of the new server goes on")
		}
	}
}

// A call that begins while Leave closes the connections waits until it can be sent on a new one.
func TestRedialWaitsForLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMoving()
		leave := m.redial.Leave
		m.redial.Leave = func() {
			time.Sleep(time.Second)
			leave()
		}
		m.move()
		began := time.Now()
		go func() { _ = m.eval(t.Context(), writes) }()
		synctest.Wait() // Leave runs
		if err := m.eval(within(t, time.Minute), reads); err != nil || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want an answer when Leave has returned", err, time.Since(began))
		}
		synctest.Wait()
	})
}

// confirming is a connection that confirms each request.
type confirming struct{ receiver *driver.Receiver }

func (c confirming) Request(channel string, end bool, answered func(error)) {
	go func() {
		if end {
			c.receiver.Ended(channel)
		} else {
			c.receiver.Confirmed(channel)
		}
		answered(nil)
	}()
}

func (confirming) Close() {}

func TestWrongServer(t *testing.T) {
	for err, want := range map[error]bool{
		errReplica: true,
		driver.ServerError("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."):                 true,
		driver.ServerError("ERR WAIT cannot be used with replica instances. Please also note that"):                            true,
		driver.ServerError("ERR Error running script (call to f_0): @user_script:1: -READONLY You can't write against a"):      true,
		driver.ServerError("ERR Error running script (call to f_0): @user_script:1: -MASTERDOWN Link with MASTER is down"):     true,
		driver.ServerError("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."): false,
		driver.ServerError("ERR Error running script (call to f_0): @user_script:1: -MISCONF Redis is configured to save"):     false,
		driver.ServerError("LOADING Redis is loading the dataset in memory"):                                                   false,
		driver.ServerError("NOPERM User app has no permissions to run the 'readonly' command"):                                 false,
		driver.ServerError("READONLY account is frozen"):                                                                       false, // of a script of the user
		errors.New("READONLY"): false,
	} {
		if got := driver.WrongServer(err); got != want {
			t.Errorf("WrongServer(%v): got %v, want %v", err, got, want)
		}
	}
}

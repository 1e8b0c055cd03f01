//go:build linux

package faults

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// pulse asks all servers again and again while nothing is done to them, and notes when one
// did not answer for a while: because of a busy disk, or since it did not run. What comes
// late then is not the fault of the lock.
func (r *run) pulse() (rest func(), err error) {
	notes, err := history.NewWriter(r.pulseFile(), "pulse")
	if err != nil {
		return nil, err
	}
	r.healed = new(atomic.Bool)
	r.healed.Store(r.scenario.Fault.Calm)
	done := make(chan struct{})
	var asking sync.WaitGroup
	for _, server := range r.topology.Servers {
		asking.Go(func() {
			for {
				if r.healed.Load() {
					feel(server.Addr(), notes, done)
				}
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return func() {
		close(done)
		asking.Wait()
		_ = notes.Close()
	}, nil
}

// feel asks one server until it breaks off or done is closed.
func feel(addr string, notes *history.Writer, done <-chan struct{}) {
	const late, patience = 50 * time.Millisecond, 10 * time.Second
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	for lines := bufio.NewReader(conn); ; {
		asked := history.Now()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err := conn.Write([]byte("PING\r\n"))
		if err == nil {
			_, err = lines.ReadString('\n')
		}
		now := history.Now()
		if silent := now - asked; silent > int64(late) {
			notes.Note(history.Event{T: now, What: history.Stall, Process: addr, Version: silent})
		}
		if err != nil {
			return
		}
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

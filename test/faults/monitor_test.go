//go:build linux

package faults

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// watchServer watches a server by MONITOR: what its scripts did to the keys that say who
// holds a name. It is the other side of what clients believe.
//
// It notes what scripts do to the lock key of the names with a prefix, as events of the kind Monitor:
// Name, Process (the owner in the id), Detail (set, set if free, prolong, end) and Version, the life in
// ns. T is the server's clock, as that of the history. Where the connection breaks it
// comes again, and notes a Gap. It returns when the server has confirmed. stop ends it when
// all is noted that was done before.
func watchServer(addr, prefix string, notes *history.Writer) (stop func(), err error) {
	w := &monitor{addr: addr, prefix: prefix, notes: notes, done: make(chan struct{}), mark: rand.Text(), marked: make(chan struct{}, 1)}
	began := history.Now()
	conn, lines, err := w.open()
	if err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	running.Go(func() { w.run(conn, lines, began) })
	return func() {
		w.lags = !w.catchUp()
		close(w.done)
		w.drop()
		running.Wait()
	}, nil
}

// monitorPatience is how long is waited for what a slow server has still to tell.
var monitorPatience = 20 * time.Second

// catchUp waits until all was noted that the server has done so far, and reports
// whether it was.
func (w *monitor) catchUp() bool {
	conn, err := net.DialTimeout("tcp", w.addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "PING %s\r\n", w.mark); err != nil {
		return false
	}
	select {
	case <-w.marked:
		return true
	case <-time.After(monitorPatience):
		return false
	}
}

type monitor struct {
	addr, prefix string
	notes        *history.Writer
	done         chan struct{}
	mark         string
	marked       chan struct{} // sent to when the mark was seen
	lags         bool          // it was not; set before done is closed

	mu     sync.Mutex // protects the rest
	conn   net.Conn
	closed bool
}

func (w *monitor) open() (net.Conn, *bufio.Reader, error) {
	conn, err := net.DialTimeout("tcp", w.addr, time.Second)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	lines := bufio.NewReaderSize(conn, 1<<16)
	_, err = fmt.Fprint(conn, "MONITOR\r\n")
	if err == nil {
		var said string
		if said, err = lines.ReadString('\n'); err == nil && said != "+OK\r\n" {
			err = fmt.Errorf("MONITOR: %s", said)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = conn.Close()
		return nil, nil, net.ErrClosed
	}
	w.conn = conn
	return conn, lines, nil
}

func (w *monitor) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	_ = w.conn.Close()
}

// run notes what comes. A gap begins with the last that the server told, not when
// that was read: the server may have closed long before.
func (w *monitor) run(conn net.Conn, lines *bufio.Reader, last int64) {
	for {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			if at, ok := w.take(line); ok {
				last = at
			}
		}
		_ = conn.Close()
		gap := last
		for err := net.ErrClosed; err != nil; {
			select {
			case <-w.done:
				if w.lags {
					w.notes.Note(history.Event{What: history.Gap, Process: "monitor", Deadline: gap})
				}
				return
			case <-time.After(time.Millisecond):
			}
			last = history.Now()
			conn, lines, err = w.open()
		}
		w.notes.Note(history.Event{What: history.Gap, Process: "monitor", Deadline: gap})
	}
}

// take notes a line such as
//
//	+1795276800.123456 [0 lua] "SET" "v1:a" "…|m0.1" "PX" "200"
//
// and returns when the server did that.
func (w *monitor) take(line string) (t int64, ok bool) {
	head, rest, _ := strings.Cut(strings.TrimPrefix(line, "+"), "] ")
	at, from, _ := strings.Cut(head, " ")
	if strings.Contains(rest, w.mark) {
		select {
		case w.marked <- struct{}{}:
		default:
		}
	}
	seconds, micros, _ := strings.Cut(at, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	t = s*1e9 + us*1e3 - ahead()
	if strings.HasSuffix(from, " lua") { // the rest is not worth taking apart
		for _, e := range w.events(rest) {
			e.T = t
			w.notes.Note(e)
		}
	}
	return t, true
}

// events are what a command did to the lock key of names: DEL may be of several.
func (w *monitor) events(command string) (all []history.Event) {
	args := words(command)
	if len(args) < 2 {
		return nil
	}
	if strings.EqualFold(args[0], "DEL") {
		for _, key := range args[1:] {
			if name, ours := strings.CutPrefix(key, w.prefix); ours {
				all = append(all, history.Event{What: history.Monitor, Name: name, Process: "-", Detail: "end"})
			}
		}
		return all
	}
	if !strings.HasPrefix(args[1], w.prefix) {
		return nil
	}
	e := history.Event{What: history.Monitor, Name: args[1][len(w.prefix):]}
	switch command := strings.ToUpper(args[0]); {
	case command == "SET" && len(args) >= 5:
		e.Detail, e.Version = "set", nanoseconds(args[4])
		if slices.Contains(args[5:], "NX") {
			e.Detail = "set if free"
		}
		_, e.Process, _ = strings.Cut(args[2], "|")
	case command == "PEXPIRE" && len(args) == 3:
		e.Detail, e.Version = "prolong", nanoseconds(args[2])
	default:
		return nil
	}
	if e.Process == "" {
		e.Process = "-"
	}
	return []history.Event{e}
}

// ahead is by how much the wall clock is ahead of the history's. A process that is
// put aside between the two readings reads once more.
func ahead() int64 {
	for {
		before := history.Now()
		wall := time.Now().UnixNano()
		if after := history.Now(); after-before < int64(20*time.Microsecond) {
			return wall - before - (after-before)/2
		}
	}
}

func nanoseconds(ms string) int64 {
	n, _ := strconv.ParseInt(ms, 10, 64)
	return n * 1e6
}

// words are the quoted words of a line.
func words(line string) (all []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return all
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return all
		}
		all = append(all, word)
		line = line[len(quoted):]
	}
	return all
}

//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults/history"
)

// What a server did after the last line that came is not known, however late that
// line was read: a gap begins with it.
func TestGapBeginsWithTheLastLine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	did := time.Now().Add(-time.Second)
	go func() {
		for n := range 2 {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = fmt.Fprint(conn, "+OK\r\n")
			if n > 0 {
				return
			}
			_, _ = fmt.Fprintf(conn, "+%d.%06d [0 lua] \"SET\" \"v1:a\" \"c.n.200|m0.1\" \"PX\" \"200\"\r\n", did.Unix(), did.Nanosecond()/1000)
			_ = conn.Close()
		}
	}()
	file, notes, stop := watched(t, listener)
	var set, gap history.Event
	for end := time.Now().Add(20 * time.Second); gap.What == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come back")
		}
		events, err := history.Merge(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch e.What {
			case history.Monitor:
				set = e
			case history.Gap:
				gap = e
			}
		}
	}
	listener.Close() // so that stop need not wait for an answer
	stop()
	if err := notes.Close(); err != nil {
		t.Fatal(err)
	}
	if set.Name != "a" || set.Process != "m0.1" || set.Version != int64(200*time.Millisecond) {
		t.Errorf("the line: got %+v", set)
	}
	if late := time.Duration(gap.Deadline - set.T); gap.What != history.Gap || late < -time.Millisecond || late > time.Millisecond {
		t.Errorf("the gap begins %v after the last line (%+v)", late, gap)
	}
}

// What a server has not told when its watch ends was not seen: it is a gap, too.
func TestGapAtTheEnd(t *testing.T) {
	usual := monitorPatience
	monitorPatience = 50 * time.Millisecond
	defer func() { monitorPatience = usual }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			go func() {
				if line, _ := bufio.NewReader(conn).ReadString('\n'); line == "MONITOR\r\n" {
					_, _ = fmt.Fprint(conn, "+OK\r\n") // and nothing that comes then
				}
			}()
		}
	}()
	file, notes, stop := watched(t, listener)
	stop()
	if err := notes.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := history.Merge(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 || events[0].What != history.Gap {
		t.Errorf("got %+v, want a gap", events)
	}
}

// watched begins to watch a server, and returns where the events go.
func watched(t *testing.T, server net.Listener) (file string, notes *history.Writer, stop func()) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "monitor.jsonl")
	notes, err := history.NewWriter(file, "monitor")
	if err != nil {
		t.Fatal(err)
	}
	stop, err = watchServer(server.Addr().String(), "v1:", notes)
	if err != nil {
		t.Fatal(err)
	}
	return file, notes, stop
}

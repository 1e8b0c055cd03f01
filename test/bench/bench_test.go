package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/bench"
	"github.com/holdfast-go/holdfast/test/bench/callers"
	"github.com/holdfast-go/holdfast/test/bench/counters"
	"github.com/holdfast-go/holdfast/test/bench/probes"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/rivals"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// shared are the workloads in which callers share a name. In them also runs a contender that locks
// nothing; child processes know it, too, since they are the same program.
var shared = []string{"B3", "B4", "B5", "B6", "F1", "F3"}

func TestMain(m *testing.M) {
	nobody := rivals.Contender{Name: "nobody", Open: func(rivals.Setup) (rivals.Maker, error) {
		return func(int, string) (rivals.Mutex, error) { return idle{}, nil }, nil
	}}
	all := slices.Clone(callers.Workloads)
	for i := range callers.Workloads {
		callers.Workloads[i].Who = append(slices.Clone(all[i].Who), nobody)
	}
	if isChild, err := bench.Child(); isChild {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type idle struct{}

func (idle) Lock(context.Context) error { return nil }
func (idle) Unlock() error              { return nil }

// An overlap of 0 says nothing unless the detector can say anything else. On a machine that is busy
// with other things two callers are seldom inside at once: it looks again.
func TestOverlapsAreSeen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, name := range shared {
		overlaps := 0.0
		for try := 0; try < 30 && overlaps == 0; try++ {
			f, err := callers.Run{Workload: name, Who: "nobody", Window: 100 * time.Millisecond, Addr: server.Addr(), Dir: t.TempDir(), Name: "n"}.Measure()
			if err != nil {
				t.Fatal(err)
			}
			overlaps = f["overlaps"]
		}
		if overlaps == 0 {
			t.Errorf("%s without any lock: got 0 overlaps in 30 runs, want some", name)
		}
	}
}

// A quick run has every row, and holdfast's say that it locked.
func TestQuickRunHasAllRows(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes a minute, and needs a server")
	}
	var out, talk bytes.Buffer
	if err := bench.Main([]string{"-quick", "-o", "json", "-who", "^(holdfast|red|rueidis|zset|set|limit)"}, &out, &talk); err != nil {
		t.Fatalf("%v\n%s", err, &talk)
	}
	var found report.Report
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	rows := map[string]report.Row{}
	for _, row := range found.Rows {
		rows[row.Workload+" "+row.Who] = row
	}
	for _, w := range callers.Workloads {
		for _, c := range w.Who {
			row, measured := rows[w.Name+" "+c.Name]
			if !measured && c.Name != "nobody" || c.IsOurs() && row.Figures["ops_per_s"] == 0 {
				t.Errorf("%s, %s: got %v, want a row with locks\n%s", w.Name, c.Name, row.Figures, &talk)
			}
		}
	}
	for _, p := range probes.Probes {
		for _, who := range p.Who {
			if len(rows[p.Name+" "+who].Figures) == 0 {
				t.Errorf("no row of %s, %s\n%s", p.Name, who, &talk)
			}
		}
	}
}

// The figure "commands" is a sum over names. It is right as long as clients send what is listed, and
// scripts call nothing of it.
func TestSends(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range callers.Workloads {
		for _, c := range w.Who {
			key := c.Name + c.Settings
			if seen[key] || c.Name == "nobody" || c.Name == "limit" {
				continue
			}
			seen[key] = true
			t.Run(w.Name+" "+c.Name, func(t *testing.T) { sentAsListed(t, w, c) })
		}
	}
}

func sentAsListed(t *testing.T, w callers.Workload, c rivals.Contender) {
	server := redistest.Start(t, redistest.Options{})
	monitor := watch(t, server.Addr())
	lockInTurn(t, server, w, c)
	server.MustDo(t, "ECHO", "end")
	sent, inScripts := monitor()
	if len(sent) == 0 {
		t.Error("the client sent nothing")
	}
	for _, command := range sent {
		if counts, listed := counters.Of(command, c.Sends); counts && !listed {
			t.Errorf("the client sends %s, which is not in its list %v", command, c.Sends)
		}
	}
	for _, command := range inScripts {
		if _, listed := counters.Of(command, c.Sends); listed {
			t.Errorf("a script calls %s, which is in the list of what the client sends", command)
		}
	}
}

// lockInTurn opens a contender twice, and lets several callers of both lock: one name if the workload
// is about that, else names of their own.
func lockInTurn(t *testing.T, server *redistest.Server, w callers.Workload, c rivals.Contender) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var locks atomic.Int64
	for process := range 2 {
		mutex, err := c.Open(rivals.Setup{Addr: server.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			name := "bench:sends"
			if w.Name[0] == 'F' && !w.Shared {
				name = fmt.Sprintf("bench:sends:%d:%d", process, i)
			}
			m, err := mutex(i, name)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				for range 5 {
					err := m.Lock(ctx)
					if err == nil {
						locks.Add(1)
						err = m.Unlock()
					}
					if err != nil && c.IsOurs() { // SET NX does not wait
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if locks.Load() == 0 {
		t.Error("nobody got the lock")
	}
}

// watch starts MONITOR. The function it returns gives the commands that clients sent and those that
// scripts called before a client said ECHO end.
func watch(t *testing.T, addr string) func() (sent, inScripts []string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	fmt.Fprint(conn, "MONITOR\r\n")
	if line, err := lines.ReadString('\n'); line != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	return func() (sent, inScripts []string) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(line, " [")
			source, command, _ := strings.Cut(rest, `] "`)
			name, arguments, _ := strings.Cut(strings.ToLower(command), `"`)
			switch {
			case name == "echo" && strings.HasPrefix(arguments, ` "end"`):
				return sent, inScripts
			case strings.HasSuffix(source, " lua"):
				inScripts = append(inScripts, name)
			default:
				sent = append(sent, name)
			}
		}
	}
}

// A -run that matches nothing is an error, and -help lists what it may match.
func TestRunMatchesNothing(t *testing.T) {
	var out, talk bytes.Buffer
	if err := bench.Main([]string{"-run", "^B99$"}, &out, &talk); err == nil || !strings.Contains(err.Error(), "matches no workload") {
		t.Errorf("-run '^B99$': got %v, want an error that says so", err)
	}
	if err := bench.Main([]string{"-help"}, &out, &talk); !errors.Is(err, flag.ErrHelp) || !strings.Contains(talk.String(), "B1   own names, 1 caller") {
		t.Errorf("-help: %v, %s", err, talk.String())
	}
}

// A part of a workload can't be kept: its rows would be compared with those of another run.
func TestSaveOfSomeOfAWorkload(t *testing.T) {
	var out, talk bytes.Buffer
	if err := bench.Main([]string{"-save", "-run", "^F2$", "-who", "holdfast"}, &out, &talk); err == nil || !strings.Contains(err.Error(), "-save with -who") {
		t.Errorf("-save with -who: got %v, want an error that says so", err)
	}
}

package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/bench"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

func TestMain(m *testing.M) {
	if bench.IsChild() {
		if err := bench.Child(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// An overlap of 0 says nothing unless the detector can say anything else. On a
// machine that is busy with other things two callers are seldom inside at once:
// it looks again.
func TestOverlapsAreSeen(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for _, workload := range []string{"B3", "B4", "B5", "B6"} {
		var overlaps int64
		for try := 0; try < 20 && overlaps == 0; try++ {
			overlaps = bench.Cell(t, server, bench.None, workload, 100*time.Millisecond).Overlaps
		}
		if overlaps == 0 {
			t.Errorf("%s without any lock: got 0 overlaps in 20 runs, want some", workload)
		}
	}
}

// A quick run has every row, and holdfast's say that it locked.
func TestQuickRunHasAllRows(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	var out, talk bytes.Buffer
	if err := bench.Main([]string{"-quick", "-o", "json", "-run", "^B[1-7]"}, &out, &talk); err != nil {
		t.Fatalf("%v\n%s", err, &talk)
	}
	var report bench.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	for _, pair := range bench.Pairs(report.Versions["etcd"] != "") {
		i := slices.IndexFunc(report.Rows, func(r bench.Row) bool { return r.Workload == pair[0] && r.Who == pair[1] })
		if i < 0 {
			t.Errorf("no row of %s in %s\n%s", pair[1], pair[0], &talk)
			continue
		}
		row := report.Rows[i]
		if bench.IsOurs(row.Who) && row.OpsPerSecond == 0 { // a busy machine may need more than a short window
			row = bench.Cell(t, redistest.Start(t, redistest.Options{}), row.Who, row.Workload, 10*time.Second)
		}
		if bench.IsOurs(row.Who) && (row.OpsPerSecond <= 0 || row.Failed > 0) {
			t.Errorf("%s in %s: got %.0f locks per second and %d failures (%s), want some and none",
				row.Who, row.Workload, row.OpsPerSecond, row.Failed, row.Failure)
		}
	}
}

// The figure "commands" is a sum over names, see counters.go.
func TestSends(t *testing.T) {
	for _, who := range bench.Who() {
		t.Run(who, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			monitor := watch(t, server.Addr())
			bench.Contend(t, server, who)
			server.MustDo(t, "ECHO", "end")
			sent, inScripts := monitor()
			for _, command := range sent {
				if !bench.IsUncounted(command) && !slices.Contains(bench.Sends(who), command) {
					t.Errorf("the client sends %s, which is not in its list %v", command, bench.Sends(who))
				}
			}
			for _, command := range inScripts {
				if slices.Contains(bench.Sends(who), command) {
					t.Errorf("a script calls %s, which is in the list of what the client sends", command)
				}
			}
		})
	}
}

// watch starts MONITOR. The function it returns gives the commands that clients
// sent and those that scripts called before somebody said ECHO end.
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

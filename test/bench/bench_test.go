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

	"github.com/holdfast-go/holdfast/test/bench"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/bench/scenario"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestMain(m *testing.M) {
	if scenario.IsChild() {
		if err := scenario.Child(os.Stdin, os.Stdout); err != nil {
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
	for _, name := range []string{"B3", "B4", "B5", "B6"} {
		var overlaps int64
		for try := 0; try < 20 && overlaps == 0; try++ {
			overlaps = run(t, server, nobody, name, 100*time.Millisecond).Overlaps
		}
		if overlaps == 0 {
			t.Errorf("%s without any lock: got 0 overlaps in 20 runs, want some", name)
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
	var found report.Report
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	allRows(t, found, workload.Workloads, &talk)
}

// Limits, too, send what they say.
func TestSends(t *testing.T) {
	for _, c := range slices.Concat(workload.Contenders(), limit.Limits) {
		if len(c.Sends) == 0 || c.Open == nil {
			continue
		}
		t.Run(c.Who, func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			sentAsListed(t, server, c.Sends, func() { byTurns(t, server, c) })
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

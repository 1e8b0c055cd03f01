package bench_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/test/bench/bulk"
	"github.com/holdfast-go/holdfast/test/bench/report"
)

var bulkRun = flag.String("bulk", "", "measure the bulk workloads in full whose name matches, as B8 or 'B(8|9)'")

func init() {
	if bulk.IsChild() {
		if err := bulk.Child(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// A quick run of the bulk workloads has their rows, and whatever does not depend
// on how fast the machine is keeps its limit.
func TestBulk(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	scale, run := bulk.Quick, regexp.MustCompile("^B")
	if *bulkRun != "" {
		scale, run = bulk.Full, regexp.MustCompile(*bulkRun)
	}
	var talk strings.Builder
	rows, err := bulk.Run(scale, run, &talk)
	if err != nil {
		t.Fatalf("%v\n%s", err, &talk)
	}
	if err := report.PrintBulk(t.Output(), rows); err != nil {
		t.Fatal(err)
	}
	if scale == bulk.Full {
		return
	}
	sure := map[string]bool{ // of a quick run, on any machine
		"lost": true, "their keys in Redis afterwards": true, "goroutines for all": true,
		"callers served": true, "served before an earlier waiter": true, "served while another held": true,
		"keys without an expiry": true, "longest TTL of a key": true, "keys left a simulated day later": true,
	}
	seen := map[string]bool{}
	for _, row := range rows {
		for _, f := range row.Figures {
			if seen[f.Name] = true; sure[f.Name] && !f.Met {
				t.Errorf("%s, %s: %s is %g %s, want %s", row.Workload, row.Who, f.Name, f.Value, f.Unit, f.Limit)
			}
		}
	}
	for name := range sure {
		if !seen[name] {
			t.Errorf("no figure %q", name)
		}
	}
}

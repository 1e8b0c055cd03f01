//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

var ticks = flag.Int("ticks", 3, "for how many ticks TestRunEvery plays")

// Three machines whose clocks differ start `run --every` on a real server for some ticks,
// each early or late by as much again: a tenth of the period. Each tick begins once. A start
// may be 0.6 s later than that by a standstill of this machine; then all is played again.
// The simulation plays hundreds of ticks; make test-all plays twelve here.
func TestRunEvery(t *testing.T) {
	// Not beside other tests: it looks at the clock.
	const period = 2 * time.Second
	server := startRedis(t)
	for try := range 5 {
		began, latest := playTicks(t, server.url(), fmt.Sprint("try", try, ":"), period, *ticks)
		if latest > period/2-2*period/10 {
			t.Logf("a start took %v, so its tick may have been another", latest)
			continue
		}
		for k := range *ticks {
			if n := began[strconv.Itoa(k)]; n != 1 {
				t.Errorf("tick %d began %d times; want once", k, n)
			}
		}
		return
	}
	t.Error("this machine stood still in each of five tries")
}

// playTicks gives how often each tick began, and the longest that a start took.
func playTicks(t *testing.T, url, prefix string, period time.Duration, ticks int) (began map[string]int, latest time.Duration) {
	off := period / 10
	notes := t.TempDir()
	first := time.Now().Truncate(period).Add(2 * period)
	var all sync.WaitGroup
	var mu sync.Mutex
	for m := range 3 {
		clock := time.Duration(m-1) * off // the machine's own error
		for k := range ticks {
			late := time.Duration(rand.Int64N(2*int64(off))) - off
			start := first.Add(time.Duration(k)*period + clock + late)
			r := newRun(t, url, fmt.Sprintf("echo %d >> %s/$HOLDFAST_TOKEN", k, notes), "--every", period.String(),
				"--at", "0", "-E", "0", "--ttl", "1s", "--prefix", prefix, "--owner", fmt.Sprint("m", m))
			all.Go(func() {
				time.Sleep(time.Until(start))
				if err := r.Start(); err != nil {
					t.Error(err)
					return
				}
				r.wantExit(0)
				mu.Lock()
				defer mu.Unlock()
				latest = max(latest, time.Since(start))
			})
		}
	}
	all.Wait()
	began = map[string]int{}
	files, err := filepath.Glob(notes + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for k := range strings.FieldsSeq(string(text)) {
			began[k]++
		}
	}
	return began, latest
}

// What is not due is skipped, and people are told why. A run that is killed is not
// repeated, and is shown.
func TestRunEverySaysWhy(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	hourly := func(script string, flags ...string) *runner {
		return startRun(t, server.url(), script, append([]string{"--every", "1h", "--ttl", "1s"}, flags...)...)
	}
	killed := hourly(note("pid", "$$")+idle, "--owner", "web-1")
	killed.pid("pid")
	late := hourly("exit 9")
	late.wantExit(cli.ExitTempFail)
	late.wantSaid("is not due: it is running on web-1; the newest run of the tick at ")
	killed.send(syscall.SIGKILL)
	killed.exit()
	until(t, "the lease has expired", func() bool {
		left, err := server.try("EXISTS", "holdfast:job")
		return err == nil && strings.Contains(left, "0")
	})
	late = hourly("exit 9", "-E", "0")
	late.wantExit(0)
	late.wantSaid("job is not due: it is due again in ")
	late.wantSaid("on web-1, has not ended")
	other := startRun(t, server.url(), "exit 9", "--every", "2h")
	other.wantExit(cli.ExitUsage)
	other.wantSaid("job has another schedule: every 1h0m0s, with a tick at ")
	failed := startRun(t, server.url(), "exit 9", "--every", "1h", "--at", "10m", "--prefix", "other:")
	failed.wantExit(9)
	wantShown(t, 0, "failed: exit code 9", "show", "job", "--redis", server.url(), "--prefix", "other:")
}

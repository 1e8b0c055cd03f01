package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/embedded"
)

// A demo that is interrupted ends at once, says so by its code, and leaves
// nothing on somebody's server; nor do its processes.
func TestDemoInterrupted(t *testing.T) {
	server := newServer(t)
	for _, args := range [][]string{nil, {"--processes"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			cmd := command(append([]string{"demo", "-q", "--redis", server.URL()}, args...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await(t, "a sale", func() bool { return strings.Contains(keys(t, server), "stock") })
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.ExitCode() != exitInterrupted {
				t.Errorf("ended with %v, want exit code %d", err, exitInterrupted)
			}
			if got := keys(t, server); got != "" {
				t.Errorf("left behind: %s", got)
			}
		})
	}
}

func TestJain(t *testing.T) {
	for _, test := range []struct {
		shares []float64
		want   float64
	}{
		{[]float64{1, 1, 1, 1}, 1},
		{[]float64{1, 0, 0, 0}, 0.25},
		{[]float64{1, 1, 0, 0}, 0.5},
		{[]float64{0, 0}, 1},
	} {
		if got := jain(test.shares); got != test.want {
			t.Errorf("jain(%v) = %v, want %v", test.shares, got, test.want)
		}
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestFairness(t *testing.T) {
	inOrder := []*visit{{Arrived: ms(0), Entered: ms(1)}, {Arrived: ms(5), Entered: ms(10)}}
	if got, want := fairness(inOrder), 1.0; got != want {
		t.Errorf("first come, first served: %v, want %v", got, want)
	}
	overtaken := []*visit{{Arrived: ms(0), Entered: ms(10)}, {Arrived: ms(5), Entered: ms(6)}}
	if got, want := fairness(overtaken), 0.9; got != want { // (1/2 + 1)² / 2(1/4 + 1)
		t.Errorf("one overtaken: %v, want %v", got, want)
	}
	sameInstant := []*visit{{Arrived: ms(0), Entered: ms(10)}, {Arrived: ms(1), Entered: ms(6)}}
	if got, want := fairness(sameInstant), 1.0; got != want {
		t.Errorf("arrived together: %v, want %v", got, want)
	}
}

func TestPicture(t *testing.T) {
	var out bytes.Buffer
	printPicture(screen{w: &out, width: 25}, &result{way: "setnx", oversold: 1, overlaps: 2, visits: []*visit{
		{Arrived: ms(0), Entered: ms(0), Left: ms(99)},
		{Arrived: ms(0), Entered: ms(50), Left: ms(150)},
		{Arrived: ms(100), Entered: ms(151), Left: ms(200)},
	}})
	got, want := out.String(), `
setnx: 2 overlaps, 1 oversold
  1 #####XXXXX
  2 .....XXXXX######
  3           .....#####
    0             200 ms

`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestWorst(t *testing.T) {
	fine, met, sold := &result{way: "fine"}, &result{way: "met", overlaps: 9}, &result{way: "sold", oversold: 1, overlaps: 2}
	if got := worst([]*result{fine, met, sold}); got != sold {
		t.Errorf("the worst is %s, want %s", got.way, sold.way)
	}
	if got := worst([]*result{fine, met}); got != met {
		t.Errorf("the worst is %s, want %s", got.way, met.way)
	}
}

func newServer(t *testing.T) *embedded.Store {
	server, err := startEmbedded("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// keys are all keys of the server, as one text.
func keys(t *testing.T, server *embedded.Store) string {
	var all []string
	for key, err := range server.Scan(context.Background(), "*") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return strings.Join(all, " ")
}

// await polls until done, which it is soon.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}

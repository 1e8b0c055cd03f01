package demo

import (
	"bytes"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

func Ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestFairness(t *testing.T) {
	inOrder := []*visit{{Arrived: Ms(0), Entered: Ms(1)}, {Arrived: Ms(5), Entered: Ms(10)}}
	if got, want := fairness(inOrder), 1.0; got != want {
		t.Errorf("first come, first served: %v, want %v", got, want)
	}
	overtaken := []*visit{{Arrived: Ms(0), Entered: Ms(10)}, {Arrived: Ms(5), Entered: Ms(6)}}
	if got, want := fairness(overtaken), 0.9; got != want { // (1/2 + 1)² / 2(1/4 + 1)
		t.Errorf("one overtaken: %v, want %v", got, want)
	}
	sameInstant := []*visit{{Arrived: Ms(0), Entered: Ms(10)}, {Arrived: Ms(1), Entered: Ms(6)}}
	if got, want := fairness(sameInstant), 1.0; got != want {
		t.Errorf("arrived together: %v, want %v", got, want)
	}
}

func TestPicture(t *testing.T) {
	var out bytes.Buffer
	(&result{Way: "setnx", Oversold: 1, Overlaps: 2, visits: []*visit{
		{Arrived: Ms(0), Entered: Ms(0), Left: Ms(99)},
		{Arrived: Ms(0), Entered: Ms(50), Left: Ms(150)},
		{Arrived: Ms(100), Entered: Ms(151), Left: Ms(200)},
	}}).picture(console.Screen{W: &out, Width: 25})
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
	fine, met, sold := &result{Way: "fine"}, &result{Way: "met", Overlaps: 9}, &result{Way: "sold", Oversold: 1, Overlaps: 2}
	if got := worst([]*result{fine, met, sold}); got != sold {
		t.Errorf("the worst is %s, want %s", got.Way, sold.Way)
	}
	if got := worst([]*result{fine, met}); got != met {
		t.Errorf("the worst is %s, want %s", got.Way, met.Way)
	}
}

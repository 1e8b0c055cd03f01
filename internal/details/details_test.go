package details

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/call"
)

func TestString(t *testing.T) {
	for want, p := range map[string]Process{
		"":                         {},
		"backup":                   {Program: "backup"},
		"alice":                    {User: "alice", Program: "backup"},
		"pid 4121":                 {PID: 4121},
		"on web-3":                 {Host: "web-3"},
		"alice, pid 4121 on web-3": {User: "alice", PID: 4121, Host: "web-3", Program: "backup"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v: got %q, want %q", p, got, want)
		}
	}
}

// A process reads what another one stores, and cleans it.
func TestParse(t *testing.T) {
	s := Stored{Process: Process{Host: "a\x1bb", PID: -1, User: strings.Repeat("x", 2*MaxField), Note: "n", Expect: 2 * time.Hour}, Exported: []string{"h"}}
	got, ok := Parse(s.Text())
	if want := (Process{Host: "a_b", User: strings.Repeat("x", MaxField), Note: "n", Expect: 2 * time.Hour}); !ok || got.Process != want || len(got.Exported) != 1 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for text, want := range map[string]time.Duration{
		`{"expect_ms":-1}`: 0, `{"expect_ms":-9223372036854775807}`: 0, `{"expect_ms":1}`: time.Millisecond, `{"expect_ms":9223372036854775807}`: MaxExpect,
	} {
		if got, ok := Parse(text); !ok || got.Expect != want {
			t.Errorf("%s: got %v, want %v", text, got.Expect, want)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "no JSON": "{", "a list": "[]", "too long": `{"note":"` + strings.Repeat("x", maxText) + `"}`,
	} {
		if got, ok := Parse(text); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// store keeps what is written until it may be.
type store struct {
	driver.Store
	begin chan struct{} // nil: at once
	err   error
	texts []string
	ttls  []string
}

func (s *store) Eval(_ context.Context, call driver.Call) ([]string, error) {
	if s.begin != nil {
		<-s.begin
	}
	s.texts, s.ttls = append(s.texts, call.Args[0]), append(s.ttls, call.Args[1])
	return nil, s.err
}

func noteOn(t *testing.T, s *store, warn func(error)) *Note {
	caller := &call.Caller{Store: s, Life: t.Context(), Attempt: time.Minute, Closed: func() error { return nil }}
	return NewNote(Process{User: "alice"}, "c", time.Second, caller, warn)
}

// Writes do not pile up: one that waits for its turn also writes what is added until then.
func TestNoteIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{begin: make(chan struct{})}
		n := noteOn(t, s, nil)
		for range 10 {
			n.Exported("id")
			if n.Wanted() {
				go n.Write()
			}
			synctest.Wait()
		}
		close(s.begin)
		synctest.Wait()
		if len(s.texts) != 2 || strings.Count(s.texts[1], ",") != 10 {
			t.Errorf("got %q, want the newest in 2 writes", s.texts)
		}
	})
}

// Remove leaves the details only if tenures were exported.
func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for exports, want := range []string{"", `"exported":[`} {
			s := &store{}
			n := noteOn(t, s, nil)
			n.about.Expect = 10 * time.Second
			if exports > 0 {
				n.Exported("id")
			}
			if n.Wanted() {
				n.Write()
			}
			<-n.Remove(t.Context())
			if len(s.texts) != 2 || !strings.Contains(s.texts[1], want) || want == "" && s.texts[1] != "" {
				t.Errorf("got %q, want %q last", s.texts, want)
			}
			if ttl := []string{"3601000", "3611000"}[exports]; s.ttls[0] != ttl {
				t.Errorf("the details live for %s ms, want %s: only what is exported needs them for longer", s.ttls[0], ttl)
			}
		}
		s := &store{}
		<-noteOn(t, s, nil).Remove(t.Context())
		if len(s.texts) != 0 {
			t.Errorf("got %q, want nothing: nothing was written", s.texts)
		}
	})
}

// warn gets the first error only.
func TestNoteWarnsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		warned := 0
		n := noteOn(t, &store{err: errors.New("connection refused")}, func(error) { warned++ })
		n.Write()
		n.Write()
		if warned != 1 {
			t.Errorf("warned %d times, want once", warned)
		}
	})
}

// After Close a Note writes nothing, and does not warn of a failure.
func TestNoteBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := errors.New("closed")
		s := &store{}
		n := noteOn(t, s, nil)
		n.caller.Closed = func() error { return closed }
		if n.Wanted() {
			n.Write()
		}
		if len(s.texts) != 0 {
			t.Errorf("got %q behind the end, want nothing", s.texts)
		}

		s = &store{begin: make(chan struct{}), err: errors.New("connection refused")}
		warned, over := 0, error(nil)
		n = noteOn(t, s, func(error) { warned++ })
		n.caller.Closed = func() error { return over }
		go n.Write()
		synctest.Wait()
		over = closed
		close(s.begin)
		synctest.Wait()
		if len(s.texts) != 1 || warned != 0 {
			t.Errorf("%d writes, %d warnings, want one write and no warning", len(s.texts), warned)
		}
	})
}

func TestNoNote(t *testing.T) {
	var n *Note
	n.Exported("id")
	<-n.Remove(t.Context())
	if n.Wanted() {
		t.Error("a nil Note is to be written")
	}
}

package search_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/internal/script"
	"github.com/holdfast-go/holdfast/internal/wire"
)

// served is a line that TestHistories of internal/machine writes.
type served struct {
	First    bool
	At       int64 // microseconds
	Listens  []string
	Channels []string
	Deleted  bool
	Script   string
	Keys     []string
	Args     []string
	Reply    []string
	Heard    []heard
}

type heard struct {
	Process int
	Push    string
}

// The model of the server answers and publishes as the scripts do, in histories of processes that
// meet faults at random. So what the search finds out about model and client holds for the scripts,
// as far as these histories go.
func TestModelAnswersAsScripts(t *testing.T) {
	histories := historiesOf[served](t, "machine", func(line served) bool { return line.First })
	scripts, words := map[string]int{}, map[string]int{}
	for _, h := range histories {
		synctest.Test(t, func(t *testing.T) { play(t, h, scripts, words) })
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %v, %v", len(histories), scripts, words)
	for _, word := range []string{"granted", "queued", "held", "released", "not held", "renewed", "lost", "cancelled"} {
		if words[word] == 0 {
			t.Errorf("no script answered %q", word)
		}
	}
	for _, push := range []string{"push grant", "push head", "push recall"} {
		if words[push] == 0 {
			t.Errorf("there was no %s", push)
		}
	}
}

// historiesOf has the search of a package write histories, and returns them.
func historiesOf[T any](t *testing.T, pkg string, isFirst func(line T) bool) (histories [][]T) {
	file := filepath.Join(t.TempDir(), "histories")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count", "1", "-run", "^TestHistories$", "../../internal/"+pkg, "-args", "-search.histories", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(in); ; {
		var line T
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if isFirst(line) {
			histories = append(histories, nil)
		}
		last := &histories[len(histories)-1]
		*last = append(*last, line)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	return histories
}

// play runs one history on the scripts.
func play(t *testing.T, history []served, scripts, words map[string]int) {
	now := time.UnixMicro(history[0].At)
	store, err := embedded.Open(&embedded.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	open := map[string]driver.Subscription{}
	var mu sync.Mutex // protects got between two synctest.Wait
	var got []heard
	for i, line := range history {
		now = time.UnixMicro(line.At)
		for channel, sub := range open {
			if !slices.Contains(line.Listens, channel) {
				sub.Close()
				delete(open, channel)
			}
		}
		for _, channel := range line.Listens {
			if open[channel] == nil {
				of := slices.Index(line.Channels, channel)
				open[channel], err = store.Subscribe(t.Context(), channel, func(payload string) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, heard{of, payload})
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if line.Deleted {
			if _, err := store.Do("DEL", line.Keys[0]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		reply, err := store.Eval(t.Context(), driver.Call{Script: named(t, line.Script), Keys: line.Keys, Args: line.Args})
		if err != nil {
			t.Fatalf("%s %q: %v", line.Script, line.Args, err)
		}
		synctest.Wait()
		scripts[line.Script]++
		want, have := answer(t, line.Reply), answer(t, reply)
		words[want.Word.String()]++
		if want != have {
			t.Errorf("%d. at %d, %s %q:\n the scripts answer %q\nthe model answers %q", i, line.At, line.Script, line.Args, reply, line.Reply)
		}
		wantPushes, havePushes := pushes(t, line.Heard), pushes(t, got)
		for _, p := range wantPushes {
			words["push "+p.Word.String()]++
		}
		if !slices.Equal(wantPushes, havePushes) {
			t.Errorf("%d. at %d, %s %q:\n the scripts publish %v\nthe model publishes %v", i, line.At, line.Script, line.Args, got, line.Heard)
		}
		if got = nil; t.Failed() {
			return
		}
	}
	for _, sub := range open {
		sub.Close()
	}
}

func named(t *testing.T, name string) *driver.Script {
	for _, s := range []*driver.Script{script.Lock, script.Unlock, script.Cancel, script.Renew,
		script.QuorumLock, script.QuorumRaise, script.QuorumRenew, script.QuorumRepair, script.QuorumUnlock} {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no script %s", name)
	return nil
}

// answer decodes an answer without its tokens: the model counts them, the scripts follow the clock.
func answer(t *testing.T, reply []string) wire.Answer {
	a, err := wire.DecodeAnswer(reply)
	if err != nil {
		t.Fatal(err)
	}
	a.Base, a.Size = min(a.Base, 1), min(a.Size, 1)
	return a
}

// pushes decodes pushes without their tokens, sorted by whom they reach.
func pushes(t *testing.T, all []heard) (decoded []wire.Push) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b heard) int { return cmp.Compare(a.Process, b.Process) })
	for _, h := range all {
		p, err := wire.DecodePush(h.Push)
		if err != nil {
			t.Fatal(err)
		}
		p.Base, p.Size = min(p.Base, 1), min(p.Size, 1)
		decoded = append(decoded, p)
	}
	return decoded
}

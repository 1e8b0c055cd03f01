//go:build unix

package process_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// 64 callers in four processes with both drivers visit 1,000 names, half of the
// time ten of them, while slots move to and fro, keys one by one or together.
// No error reaches a caller, nobody meets anybody, tokens rise, and nothing is
// left behind.
func TestClusterSlotsMoveUnderLoad(t *testing.T) {
	const lasting = 7 * time.Second
	nodes := clienttest.Cluster(redistest.Cluster(t, 3, 1))
	masters := nodes[:3]
	dir := t.TempDir()
	o := tour{
		Names: 1000, Hot: 10, Callers: 16,
		Stop: filepath.Join(dir, "stop"), Inside: filepath.Join(dir, "inside"), Journal: filepath.Join(dir, "journal"),
	}
	for _, d := range []string{o.Inside, o.Journal} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var calls []call
	for i := range 4 {
		p := startProcess(t, setting{URL: nodes.URL(), Driver: i % len(clienttest.Drivers), Owner: fmt.Sprint("P", i)})
		p.ready.wait()
		calls = append(calls, p.order(order{Do: "tour", Tour: o}))
	}
	moved, keys := 0, 0
	random := rand.New(rand.NewPCG(1, 2))
	for began := time.Now(); time.Since(began) < lasting; moved++ {
		name := o.name(random.IntN(o.Hot))
		if moved%4 == 3 {
			name = o.name(random.IntN(o.Names))
		}
		keys += masters.MoveSlot(t, name, moved%2 == 0, time.Duration(random.IntN(20))*time.Millisecond)
	}
	if err := os.WriteFile(o.Stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	visits := 0
	for _, c := range calls {
		r := c.wait()
		visits += r.Visits
		if r.Err != "" {
			t.Errorf("%s: %s", c.p.owner, r.Err)
		}
	}
	tokens := o.check(t)
	if tokens != visits && !t.Failed() {
		t.Errorf("%d visits and %d tokens", visits, tokens)
	}
	t.Logf("%d visits, %d slots moved with %d keys", visits, moved, keys)
	if moved < 10 || keys < 10 || visits < 500 {
		t.Error("too little has happened to prove anything")
	}
	nodes.Idle(t)
}

// check wants tokens to rise in the order of holding, and counts them.
func (o tour) check(t *testing.T) (n int) {
	t.Helper()
	tokens := check{t: t, rule: "tokens"}
	for i := range o.Names {
		text, err := os.ReadFile(filepath.Join(o.Journal, o.name(i)))
		if err != nil {
			continue // nobody came
		}
		last := int64(0)
		for line := range bytes.Lines(text) {
			token, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if token <= last {
				tokens.errorf("%s: got %d after %d", o.name(i), token, last)
			}
			last = token
			n++
		}
	}
	return n
}

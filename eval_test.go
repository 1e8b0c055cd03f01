package holdfast

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// A program that writes a script for each call does not fill its own memory.
func TestEvalScriptsAreBounded(t *testing.T) {
	var e evalScripts
	for i := range 10 * maxEvalScripts {
		source := fmt.Sprintf("return %d", i)
		if got, again := e.of(source), e.of(source); got != again || !strings.HasSuffix(got.Source, source) {
			t.Fatalf("script %d: got %q, then %q", i, got.Source, again.Source)
		}
		if n := len(e.known); n > maxEvalScripts {
			t.Fatalf("%d scripts are remembered, want %d at most", n, maxEvalScripts)
		}
	}
	for i := range 64 {
		e.of(strings.Repeat("-", maxEvalSize/16) + fmt.Sprint(i))
		if e.size > maxEvalSize {
			t.Fatalf("sources of %d bytes are remembered, want %d at most", e.size, maxEvalSize)
		}
	}
}

// A script that the check in Redis cannot protect is refused.
func TestCheckEval(t *testing.T) {
	own, err := keyspace.KeysOf("", "{n}lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		source, key string
		sharded     bool
		refused     bool
	}{
		{"return 1", "{n}data", true, false},
		{"return 1", "elsewhere", false, false},
		{"#!lua flags=no-writes\nreturn 1", "data", false, true},
		{"return 1", own.Lock(), false, true},
		{"return 1", keyspace.Reserved + "x", false, true},
		{"return 1", "elsewhere", true, true},
	} {
		err := validateEval(test.source, own, []string{test.key}, test.sharded)
		if got := err != nil; got != test.refused {
			t.Errorf("%q with the key %q: got %v, want refused %v", test.source, test.key, err, test.refused)
		}
	}
}

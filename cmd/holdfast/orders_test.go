package main

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/rogpeppe/go-internal/testscript"
)

func init() {
	scriptCommands["tenure"] = tenureOf
	scriptCommands["lost"] = lostFor
}

// tenure NAME: waits until somebody holds the name, and sets TENURE to the hash.
func tenureOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tenure NAME")
	}
	client := worldOf(ts).client("looker")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		state, err := admin.Of(client).Inspect(context.Background(), args[0])
		ts.Check(err)
		if state.Holder != nil {
			ts.Setenv("TENURE", state.Holder.Hash)
			return
		}
	}
	ts.Fatalf("nobody holds %s after 20 s", args[0])
}

// lost NAME TEXT: whoever holds the name by hold loses it, the error has
// that text, and it stops.
func lostFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lost NAME TEXT")
	}
	lease := worldOf(ts).leases[args[0]]
	select {
	case <-lease.Done():
	case <-time.After(40 * time.Second): // its ttl is a minute: a third of that, and patience
		ts.Fatalf("%s is not lost after 40 s", args[0])
	}
	if got := lease.Err().Error(); !strings.Contains(got, args[1]) {
		ts.Fatalf("the lease ended with %q, want %q", got, args[1])
	}
	_ = lease.Release()
	client := worldOf(ts).client("looker")
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		state, err := admin.Of(client).Inspect(context.Background(), args[0])
		ts.Check(err)
		if state.Holder == nil || state.Holder.Hash != ts.Getenv("TENURE") {
			return
		}
	}
	ts.Fatalf("%s is still held 20 s after the release", args[0])
}

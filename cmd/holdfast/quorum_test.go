package main

import (
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/rogpeppe/go-internal/testscript"
)

func init() { scriptCommands["servers"] = servers }

// servers N: starts more servers; URL1, URL2, … name them.
func servers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: servers N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	w := worldOf(ts)
	for i := range n {
		server, err := dev.StartEmbedded("127.0.0.1:0")
		ts.Check(err)
		w.ends = append(w.ends, func() { _ = server.Close() })
		ts.Setenv(fmt.Sprint("URL", i+1), server.URL())
	}
}

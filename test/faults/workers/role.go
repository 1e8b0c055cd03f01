//go:build linux

// Package workers runs the processes of a history: clients and the resource, which
// are this very binary in other roles, and stops, kills and replaces them.
package workers

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/history"
	"github.com/holdfast-go/holdfast/test/faults/resource"
)

// variable holds, in the environment of a child, its role as JSON.
const variable = "HOLDFAST_VERIFY_ROLE"

// role is what a child is: one of these.
type role struct {
	Client   *client.Setting
	Resource *address
}

// address is where the resource listens and what it writes.
type address struct{ Socket, History string }

// Play makes a binary its own children: main calls it first, and if it says that
// it was one, ends.
func Play() (played bool) {
	text := os.Getenv(variable)
	if text == "" {
		return false
	}
	if err := play(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func play(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	if r.Client != nil {
		return client.Run(*r.Client, os.Stdin)
	}
	notes, err := history.NewWriter(r.Resource.History, "resource")
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", r.Resource.Socket)
	if err != nil {
		return err
	}
	go resource.Serve(listener, notes)
	fmt.Println(client.Ready)
	_, err = io.Copy(io.Discard, os.Stdin) // until the parent has no more use for it
	return err
}

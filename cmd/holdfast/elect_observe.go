package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast"
)

// sightJSON is what an observer saw, a line of --observe -o json. Its names are
// promised.
type sightJSON struct {
	At     time.Time   `json:"at"`
	Name   string      `json:"name"`
	Leader *leaderJSON `json:"leader"`
	Error  *string     `json:"error"`
}

type leaderJSON struct {
	Value       string `json:"value"`
	Term        int64  `json:"term"`
	Hash        string `json:"hash"`
	Foreign     bool   `json:"foreign"`
	RemainingMS *int64 `json:"remaining_ms"`
}

// observe prints the leader, until a signal, an error that does not pass, or the end of
// the reader.
func (a *app) observe(ctx context.Context, name string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := untilUnread(ctx, a.stdout)
	defer cancel()
	client, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	for leader, err := range client.Election(name).Observe(ctx) {
		if err != nil && !errors.Is(err, holdfast.ErrUnreachable) {
			return err
		}
		if err := a.printSight(name, leader, err); unread(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printSight(name string, leader holdfast.Leader, unknown error) error {
	now := time.Now()
	if a.output == "json" {
		return printJSONLine(a.stdout, newSightJSON(now, name, leader, unknown))
	}
	if unknown != nil {
		a.say("leader unknown: %s; retrying", why(unknown))
		return nil
	}
	_, err := fmt.Fprintf(a.stdout, "%s  %s\n", now.Format(time.DateTime), leaderText(leader))
	return err
}

func newSightJSON(now time.Time, name string, leader holdfast.Leader, unknown error) sightJSON {
	out := sightJSON{At: now.UTC(), Name: name}
	switch {
	case unknown != nil:
		out.Error = new(why(unknown))
	case !leader.None():
		out.Leader = &leaderJSON{Value: leader.Value, Term: leader.Term, Hash: leader.Hash, Foreign: leader.Foreign}
		if leader.Remaining >= 0 {
			out.Leader.RemainingMS = new(leader.Remaining.Milliseconds())
		}
	}
	return out
}

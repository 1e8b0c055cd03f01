package elect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
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
func observe(ctx context.Context, a *cli.App, name string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := cli.UntilUnread(ctx, a.Stdout)
	defer cancel()
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	for leader, err := range client.Election(name).Observe(ctx) {
		if err != nil && !errors.Is(err, holdfast.ErrUnreachable) {
			return err
		}
		if err := printSight(a, name, leader, err); cli.Unread(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func printSight(a *cli.App, name string, leader holdfast.Leader, unknown error) error {
	now := time.Now()
	if a.Output == "json" {
		return console.PrintJSONLine(a.Stdout, newSightJSON(now, name, leader, unknown))
	}
	if unknown != nil {
		a.Say("leader unknown: %s; retrying", cli.Why(unknown))
		return nil
	}
	_, err := fmt.Fprintf(a.Stdout, "%s  %s\n", now.Format(time.DateTime), leaderText(leader))
	return err
}

func newSightJSON(now time.Time, name string, leader holdfast.Leader, unknown error) sightJSON {
	out := sightJSON{At: now.UTC(), Name: name}
	switch {
	case unknown != nil:
		out.Error = new(cli.Why(unknown))
	case !leader.None():
		out.Leader = &leaderJSON{Value: leader.Value, Term: leader.Term, Hash: leader.Hash, Foreign: leader.Foreign}
		if leader.Remaining >= 0 {
			out.Leader.RemainingMS = new(leader.Remaining.Milliseconds())
		}
	}
	return out
}

package show

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/spf13/cobra"
)

// HistoryCommand is 'holdfast history'.
func HistoryCommand(a *cli.App) *cobra.Command {
	var n int
	var since time.Duration
	cmd := a.Command("history NAME", "List past holders of a lock, and how each hold ended", cli.OneName, func(ctx context.Context, args []string) error {
		if n < 1 {
			return cli.Usagef("-n is %d: it must be at least 1", n)
		}
		return connect.On(ctx, a, func(client *connect.Session) error {
			return history(ctx, a, client, args[0], n, since)
		})
	})
	cmd.Flags().IntVarP(&n, "lines", "n", 20, "print at most `N` lines")
	cmd.Flags().DurationVar(&since, "since", 0, "nothing older than this, such as 24h")
	a.OutputFlag(cmd)
	return cmd
}

func history(ctx context.Context, a *cli.App, client *connect.Session, name string, n int, since time.Duration) error {
	q := journal.Query{KeyPrefix: a.Prefix, Name: name, Newest: true}
	if since > 0 {
		q.Since = time.Now().Add(-since)
	}
	page := leaseTable{now: &admin.State{}}
	if state, err := client.Admin.Inspect(ctx, name); err == nil { // else the history is without it
		page.now = state
	}
	entries, unreadable := []view.Entry{}, 0
	for e, err := range journal.Read(ctx, client.Store, q) {
		switch {
		case errors.Is(err, journal.ErrEntry):
			a.Detail("%s", cli.Reason(err))
			unreadable++
			continue
		case err != nil:
			return err
		case a.Output == "json":
			if e.Name == name {
				entries = append(entries, view.NewEntry(e))
			}
		default:
			page.take(e)
		}
		if len(entries) == n || page.full(n) {
			break
		}
	}
	if unreadable > 0 {
		a.Say("%s", view.Unreadable(unreadable, "entry"))
	}
	if a.Output == "json" {
		return console.PrintJSON(a.Stdout, entries)
	}
	if len(page.rows)+len(page.released) == 0 {
		a.Say("the journal has no entry of %s; 'holdfast run' and programs with a journal write it", view.Text(name))
		return nil
	}
	page.print(a.Page(), n)
	return nil
}

// leaseTable puts the entries of a name, newest first, together: a row for each lease.
type leaseTable struct {
	rows []*leaseRow
	open map[string]*leaseRow // whose grant is yet to come

	released map[int64]journal.Entry // by token: of exported holds, whose export is yet to come
	next     time.Time               // the grant after the entries that are yet to come
	now      *admin.State            // of the name
}

// leaseRow is a row: a lease, or an attempt that was skipped.
type leaseRow struct {
	at                   time.Time
	owner                string
	waited, held, ending string
	token                int64
	code                 string
}

// full reports whether n rows are complete.
func (s *leaseTable) full(n int) bool {
	return len(s.rows) >= n && len(s.open) == 0 || len(s.rows)+len(s.released) >= 10*n
}

func (s *leaseTable) take(e journal.Entry) {
	key := fmt.Sprint(e.Writer, " ", e.Token)
	if s.open == nil {
		s.open, s.released = map[string]*leaseRow{}, map[int64]journal.Entry{}
	}
	row := s.open[key]
	switch e.Event {
	case journal.Asked, journal.Started:
		return
	case journal.Skipped, journal.Dropped:
		row = &leaseRow{at: e.At, owner: e.Owner, waited: "-", held: "-", ending: "skipped: " + e.Reason}
		if e.Event == journal.Skipped {
			row.waited = console.Shortly(e.Waited)
		} else {
			row.ending = fmt.Sprintf("%d entries are missing", e.N)
		}
		s.rows = append(s.rows, row)
		return
	}
	if e.Event == journal.Released && e.Cause == holdfast.Exported {
		s.released[e.Token] = e
		return
	}
	if row == nil {
		row = &leaseRow{at: e.At, owner: e.Owner, token: e.Token, waited: "-", held: "-", ending: "-"}
		s.rows, s.open[key] = append(s.rows, row), row
	}
	switch e.Event {
	case journal.Granted:
		row.at, row.waited, s.next = e.At, console.Shortly(e.Waited), e.At
		delete(s.open, key)
	case journal.Ended:
		row.code = fmt.Sprintf(", exit code %d", e.Code)
	case journal.Exported:
		row.at = e.At.Add(-e.Held)
		row.held, row.ending = s.heldOn(e, row.at)
	case journal.Revoked, journal.Stolen:
		row.at, row.held, row.ending = e.At.Add(-e.Held), console.Shortly(e.Held), inspect.CauseText(e.Cause, e.Reason)
	default:
		row.at, row.held, row.ending = e.At.Add(-e.Held), console.Shortly(e.Held), string(e.Event)
		if e.Cause != "" {
			row.ending += ": " + inspect.CauseText(e.Cause, e.Reason)
		}
	}
}

// heldOn returns how long an exported hold has lasted since it was granted, and its end. The
// journal knows its release and the next grant, but not its expiry; Redis knows whether the
// newest hold goes on.
func (s *leaseTable) heldOn(e journal.Entry, granted time.Time) (held, ending string) {
	if end, known := s.released[e.Token]; known {
		delete(s.released, e.Token)
		return console.Shortly(end.At.Sub(granted)), string(journal.Released)
	}
	if s.next.After(e.At) {
		return console.Shortly(s.next.Sub(granted)), "exported, over at the next grant"
	}
	if h := s.now.Holder; s.next.IsZero() && h != nil && s.now.Kind == holdfast.KindMutex && !h.Cooldown && (h.Exported || h.Owner == e.Owner) {
		return console.Shortly(s.now.At.Sub(granted)), "exported, held now"
	}
	return "-", "exported, no end known"
}

func (s *leaseTable) print(screen console.Screen, n int) {
	for _, e := range s.released { // their exports are not in the journal
		s.rows = append(s.rows, &leaseRow{at: e.At, owner: e.Owner, token: e.Token, waited: "-", held: "-", ending: string(e.Event)})
	}
	slices.SortStableFunc(s.rows, func(a, b *leaseRow) int { return b.at.Compare(a.at) }) // they came by their ends
	rows := [][]string{{"GRANTED", "OWNER", "WAITED", "HELD", "TOKEN", "END"}}
	for _, c := range s.rows[:min(n, len(s.rows))] {
		rows = append(rows, []string{console.Stamp(c.at), view.Text(c.owner), c.waited, c.held, inspect.TokenText(c.token), view.Text(c.ending) + c.code})
	}
	console.PrintTable(screen, rows)
}

// WatchCommand is 'holdfast watch'.
func WatchCommand(a *cli.App) *cobra.Command {
	cmd := a.Command("watch [PREFIX]", "Print what happens to locks, as it happens", cli.MaybeOne, func(ctx context.Context, args []string) error {
		ctx, cancel := cli.UntilUnread(ctx, a.Stdout)
		defer cancel()
		return connect.On(ctx, a, func(client *connect.Session) error {
			return watch(ctx, a, client.Store, strings.Join(args, ""))
		})
	})
	a.OutputFlag(cmd)
	return cmd
}

func watch(ctx context.Context, a *cli.App, store driver.Store, prefix string) error {
	a.Detail("watching %s", cli.PublicURL(a.RedisURL))
	unreadable, said := 0, time.Time{}
	for e, err := range journal.Follow(ctx, store, journal.Query{KeyPrefix: a.Prefix, Prefix: prefix}) {
		switch {
		case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, journal.ErrRewound):
			a.Say("%s; retrying", cli.Why(err))
			continue
		case errors.Is(err, journal.ErrEntry):
			a.Detail("%s", cli.Reason(err))
			if unreadable++; time.Since(said) > time.Minute { // there may be thousands a second
				a.Say("%s", view.Unreadable(unreadable, "entry"))
				said = time.Now()
			}
			continue
		case err != nil:
			return err
		}
		if err := printEntry(a, e); cli.Unread(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func printEntry(a *cli.App, e journal.Entry) error {
	if a.Output == "json" {
		return console.PrintJSONLine(a.Stdout, view.NewEntry(e))
	}
	_, err := fmt.Fprintf(a.Stdout, "%s  %s\n", console.Stamp(e.At), view.Text(inspect.EntryText(e))) // any writer of the journal can put any cause there
	return err
}

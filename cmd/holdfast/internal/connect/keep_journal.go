package connect

import (
	"context"
	"log/slog"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// KeepJournal writes the events of a Client to the journal, until after is called. It
// reports only what the server refuses: an outage is reported by the lock.
func KeepJournal(a *cli.App, store driver.Store, o *holdfast.Options) (w *journal.Writer, after func()) {
	w = journal.NewWriter(store, &journal.Options{Prefix: o.Prefix, Owner: o.Owner, Logger: slog.New(refusal{a.Logger(a.Level())})})
	tell := o.OnEvent
	o.OnEvent = func(e holdfast.Event) {
		w.OnEvent(e)
		if tell != nil {
			tell(e)
		}
	}
	return w, func() {
		if err := w.Close(); err != nil {
			a.Detail("%s", cli.Reason(err))
		}
	}
}

// refusal is the handler of a journal's Logger. It says in one sentence what the server
// refuses, and what to do without.
type refusal struct{ slog.Handler }

func (h refusal) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	r.Attrs(func(attr slog.Attr) bool {
		if err, ok := attr.Value.Any().(error); ok {
			why := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "holdfast: journal: "), ".")
			r = slog.NewRecord(r.Time, r.Level, "the journal can't be written: "+why+"; --no-journal does without", r.PC)
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

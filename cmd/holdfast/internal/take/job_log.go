package take

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/journal"
)

// JobLog writes the events of a Client, and the start and end of a command, to the journal,
// in the background: it never delays the command.
type JobLog struct {
	A      *cli.App
	Name   string
	Silent bool
	Every  time.Duration   // as in an Entry
	Expect time.Duration   // likewise
	writer *journal.Writer // nil: silent
	token  int64
	began  time.Time
}

// Open is for connect. It also writes the events of the Client to the journal until after is
// called. It reports only what the server refuses: the lock reports outages.
func (l *JobLog) Open(s *connect.Session, o *holdfast.Options) (after func()) {
	if l.Silent {
		return func() {}
	}
	l.writer = journal.NewWriter(s.Store, &journal.Options{Prefix: o.Prefix, Owner: o.Owner, Logger: slog.New(refusal{l.A.Logger(l.A.Level())})})
	tell := o.OnEvent
	o.OnEvent = func(e holdfast.Event) {
		l.writer.OnEvent(e)
		if tell != nil {
			tell(e)
		}
	}
	return func() {
		if err := l.writer.Close(); err != nil {
			l.A.Detail("%s", cli.Reason(err))
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

func (l *JobLog) note(e journal.Entry) {
	if l.writer != nil {
		e.Name = l.Name
		l.writer.Note(e)
	}
}

// Started notes that the command has begun, under a lease of client.
func (l *JobLog) Started(client *connect.Session, lease *holdfast.Lease) {
	l.token, l.began = lease.Token(), time.Now()
	l.note(journal.Entry{Event: journal.Started, Token: l.token, At: l.began, Client: client.ID(), Every: l.Every, Expect: l.Expect})
}

// Ended notes the end of the command, with the exit code of its result.
func (l *JobLog) Ended(result error) {
	l.note(journal.Entry{Event: journal.Ended, Token: l.token, Held: time.Since(l.began), Code: l.A.ExitCode(result)})
}

// Skipped notes that nothing was run since the name was held. Of other errors there
// is nothing to note.
func (l *JobLog) Skipped(err error, waited time.Duration) {
	if held, ok := errors.AsType[*busyErr](err); ok {
		l.note(journal.Entry{Event: journal.Skipped, Waited: waited, Reason: held.by})
	}
}

// busyErr marks the error of a name that was held for as long as it was waited for.
type busyErr struct {
	error
	by string // its holder, where known
}

// HeldBy marks an error as that of a name that was held.
func HeldBy(err error, by string) error { return &busyErr{err, by} }

func (b *busyErr) Unwrap() error { return b.error }

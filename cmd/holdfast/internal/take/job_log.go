package take

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/journal"
)

// JobLog writes the start and end of a command, or of a lease without a process, to the
// journal, in the background: it never delays the command.
type JobLog struct {
	A      *cli.App
	Name   string
	Silent bool
	writer *journal.Writer // nil: silent
	token  int64
	began  time.Time
}

// Open is for connect.
func (l *JobLog) Open(s *connect.Session, o *holdfast.Options) (after func()) {
	if l.Silent {
		return func() {}
	}
	l.writer, after = connect.KeepJournal(l.A, s.Store, o)
	return after
}

func (l *JobLog) note(e journal.Entry) {
	if l.writer != nil {
		e.Name = l.Name
		l.writer.Note(e)
	}
}

// Started notes that the command has begun.
func (l *JobLog) Started(token int64) {
	l.token, l.began = token, time.Now()
	l.note(journal.Entry{Event: journal.Started, Token: token, At: l.began})
}

// Ended notes the end of the command, with the exit code of its result.
func (l *JobLog) Ended(result error) {
	l.note(journal.Entry{Event: journal.Ended, Token: l.token, Held: time.Since(l.began), Code: l.A.ExitCode(result)})
}

// GivenBack notes the release of a lease that 'holdfast acquire' took, which is no
// lease of this process.
func (l *JobLog) GivenBack(hold *holdfast.ExportedHold) {
	l.Name = hold.Name
	l.note(journal.Entry{Event: journal.Released, Owner: hold.Owner, Kind: holdfast.KindMutex, Token: hold.Token, Cause: holdfast.Exported})
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

package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

// jobLog writes the start and end of a command, or of a lease without a process, to the
// journal, in the background: it never delays the command.
type jobLog struct {
	a      *app
	name   string
	silent bool
	writer *journal.Writer // nil: silent
	token  int64
	began  time.Time
}

// open is for connect.
func (l *jobLog) open(s *session, o *holdfast.Options) (after func()) {
	if l.silent {
		return func() {}
	}
	l.writer, after = l.a.keepJournal(s.store, o)
	return after
}

func (l *jobLog) note(e journal.Entry) {
	if l.writer != nil {
		e.Name = l.name
		l.writer.Note(e)
	}
}

func (l *jobLog) started(token int64) {
	l.token, l.began = token, time.Now()
	l.note(journal.Entry{Event: journal.Started, Token: token, At: l.began})
}

func (l *jobLog) ended(result error) {
	code := 0
	if result != nil {
		code = l.a.exitCode(result)
	}
	l.note(journal.Entry{Event: journal.Ended, Token: l.token, Held: time.Since(l.began), Code: code})
}

// givenBack notes the release of a lease that 'holdfast acquire' took, which is no
// lease of this process.
func (l *jobLog) givenBack(hold *holdfast.ExportedHold) {
	l.name = hold.Name
	l.note(journal.Entry{Event: journal.Released, Owner: hold.Owner, Kind: holdfast.KindMutex, Token: hold.Token, Cause: holdfast.Exported})
}

// skipped notes that nothing was run since the name was held. Of other errors there
// is nothing to note.
func (l *jobLog) skipped(err error, waited time.Duration) {
	var held *busyErr
	if errors.As(err, &held) {
		l.note(journal.Entry{Event: journal.Skipped, Waited: waited, Reason: held.by})
	}
}

// busyErr marks the error of a name that was held for as long as it was waited for.
type busyErr struct {
	error
	by string // its holder, where known
}

// heldBy marks an error as that of a name that was held.
func heldBy(err error, by string) error { return &busyErr{err, by} }

func (b *busyErr) Unwrap() error { return b.error }

// busy marks the message told as "held", unless it says that Redis does not answer.
func busy(told, err error, code int) error {
	if e := (*exitError)(nil); errors.As(told, &e) && e.code == exitUnreachable && code != exitUnreachable {
		return told
	}
	by := ""
	if held := (*holdfast.HeldError)(nil); errors.As(err, &held) {
		by = "held by " + cmp.Or(held.Owner, "(not holdfast)")
	} else if errors.Is(err, context.DeadlineExceeded) {
		by = "waited too long"
	}
	return &busyErr{told, by}
}

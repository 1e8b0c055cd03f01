package main

import (
	"log/slog"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/journal"
)

// keepJournal writes what a Client that is about to be made does to the journal, until
// after is called. Its trouble is that of the lock, which is told.
func (a *app) keepJournal(store holdfast.Store, o *holdfast.Options) (w *journal.Writer, after func()) {
	trouble := slog.DiscardHandler
	if a.verbose {
		trouble = a.logger()
	}
	w = journal.NewWriter(store, &journal.Options{Prefix: o.Prefix, Owner: o.Owner, Logger: slog.New(trouble)})
	tell := o.OnEvent
	o.OnEvent = func(e holdfast.Event) {
		w.OnEvent(e)
		if tell != nil {
			tell(e)
		}
	}
	return w, func() {
		if err := w.Close(); err != nil {
			a.detail("%s", reason(err))
		}
	}
}

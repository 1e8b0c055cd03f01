package show

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
)

const (
	watchEvery = 2 * time.Second // the pause after a list
	watchShare = 4               // a pause is at least this many times as long as the list took
)

// watcher is 'holdfast ls --watch': a terminal shows the newest list, any other output gets
// list after list.
type watcher struct {
	*ls
	redrawn bool
	last    *names // nil: none yet
	at      time.Time
	trouble string // of the newest try
}

func newWatcher(l *ls) *watcher { return &watcher{ls: l} }

// run lists until ctx ends. A server that does not answer is asked again, except at first.
func (w *watcher) run(ctx context.Context) error {
	w.redrawn = w.Output == "text" && w.Page().Terminal && os.Getenv("TERM") != "dumb"
	for {
		began := time.Now()
		n, err := w.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (w.last == nil || !errors.Is(err, holdfast.ErrUnreachable)):
			return err
		}
		if err = w.print(n, err); cli.Unread(err) {
			return nil
		} else if err != nil {
			return err
		}
		if !cli.Sleep(ctx, max(watchEvery, watchShare*time.Since(began))) {
			return nil
		}
	}
}

// print prints a list, or why there is none.
func (w *watcher) print(n *names, err error) error {
	before, said := w.last, w.trouble
	if err == nil {
		w.last, w.at, err = n, time.Now(), n.refused
	}
	if w.trouble = ""; err != nil {
		w.trouble = w.Explain(err)
	}
	if w.redrawn {
		return w.redraw()
	}
	if w.trouble != "" && w.trouble != said {
		w.Say("%s; retrying", w.trouble)
	}
	if n == nil {
		return nil
	}
	return w.append(before)
}

func (w *watcher) headline() string {
	return console.Stamp(w.at) + "  " + cmp.Or(w.summary(w.last), console.Several(len(w.last.shown), "name"))
}

// redraw draws the newest list over the one before.
func (w *watcher) redraw() (err error) {
	s := console.ScreenOf(w.Stdout)
	s.Failed = &err
	lines := []string{w.headline()}
	if w.trouble != "" {
		lines = append(lines, s.Paint(console.Bad, w.trouble))
	}
	if !w.quiet(w.last) {
		var table bytes.Buffer
		printStates(console.Screen{W: &table, Colour: s.Colour}, w.last.shown)
		lines = append(append(lines, ""), strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")...)
	}
	s.Redraw(lines)
	return err
}

// append prints the newest list behind the one before. Of names, it prints those that were not
// in the list before.
func (w *watcher) append(before *names) (err error) {
	if w.Output == "json" {
		return console.PrintJSONLine(w.Stdout, statesJSON(w.last.shown))
	}
	s := console.ScreenOf(w.Stdout)
	s.Failed = &err
	switch {
	case w.Output == "name":
		known := make(map[string]bool)
		if before != nil {
			for _, state := range before.shown {
				known[state.Name] = true
			}
		}
		printNames(s, slices.DeleteFunc(slices.Clone(w.last.shown), func(v *inspect.View) bool { return known[v.Name] }))
	case !w.quiet(w.last):
		s.Printf("%s\n", w.headline())
		printStates(s, w.last.shown)
		s.Printf("\n")
	}
	return err
}

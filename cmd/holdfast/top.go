package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	defaultTopInterval = 2 * time.Second
	leastTopInterval   = 500 * time.Millisecond
	mostTopInterval    = time.Minute
	topTimeout         = 10 * time.Second
)

// topOptions are the flags of `holdfast top`.
type topOptions struct {
	interval  time.Duration
	sort      string
	all, once bool
}

func (a *app) topCommand() *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top [PREFIX]",
		Short: "Show all locks in the terminal, updated every 2 s",
		Long: `Show the locks that are held or waited for, or those whose name begins with PREFIX, on
the whole terminal. Locks with a problem come first.

WHY explains the state of a name, as 'holdfast show' does. Times count down between two
updates.

KEYS

  up, down, pgup, pgdown, home, end    select a name; also k and j
  enter    show its holder and its waiters; esc goes back
  /        show only names or holders that contain a text; esc ends that
  s, r     sort by the next column; reverse the order
  a        also show free names
  space    pause and resume
  ?        show the keys
  q        quit

COST
Each update costs as much as 'holdfast ls': it scans the whole keyspace. On a large
server use a longer --interval.

WITHOUT A TERMINAL
With --once, if stdin or stdout is no terminal, or if TERM is dumb, one picture is
printed as text. On a narrow terminal columns are left out.`,
		Example: `  holdfast top
  holdfast top invoice: --sort waiting
  holdfast top --once | head -20`,
		Args: maybeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.interval < leastTopInterval || o.interval > mostTopInterval {
				return usagef("--interval is %v: it must be from %v to %v", o.interval, leastTopInterval, mostTopInterval)
			}
			prefix := strings.Join(args, "")
			if o.once || !a.interactive() {
				return a.topOnce(cmd.Context(), o, prefix)
			}
			return a.top(cmd.Context(), o, prefix)
		},
	}
	flags := cmd.Flags()
	flags.DurationVarP(&o.interval, "interval", "i", defaultTopInterval, "time between two updates")
	flags.Var(newChoice(&o.sort, topSorts...), "sort", "`COLUMN` to sort by: "+strings.Join(topSorts, ", "))
	flags.BoolVarP(&o.all, "all", "a", false, "also show free names")
	flags.BoolVar(&o.once, "once", false, "print one picture as text and end")
	return cmd
}

// interactive reports whether there are a keyboard and a screen that can be drawn on.
func (a *app) interactive() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && screenOf(a.stdout).terminal && os.Getenv("TERM") != "dumb"
}

func (a *app) topOnce(ctx context.Context, o topOptions, prefix string) error {
	client, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	m := newTopModel(ctx, a, client, o, prefix)
	seen := m.look()
	if seen.err != nil {
		return seen.err
	}
	m.take(seen)
	s := screenOf(a.stdout)
	m.colour = s.colour
	if s.terminal {
		m.width = s.width
	}
	s.printf("%s\n%s", m.summary(), m.table(0))
	return leftOut(seen.refused)
}

// top draws until q. What is said meanwhile would spoil the picture, and is not.
func (a *app) top(ctx context.Context, o topOptions, prefix string) error {
	stderr, said := a.stderr, a.console
	a.stderr, a.console = io.Discard, newConsole(io.Discard)
	defer func() { a.stderr, a.console = stderr, said }()
	client, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	m := newTopModel(ctx, a, client, o, prefix)
	s := screenOf(a.stdout)
	m.colour, m.width, m.height = s.colour, s.width, 24
	_, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(a.stdin), tea.WithOutput(a.stdout)).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return exitWith(exitInterrupted, nil)
	}
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

// lookAtAll reads all names with a prefix.
func (a *app) lookAtAll(ctx context.Context, client *session, prefix string) topSeen {
	survey, err := client.Survey(ctx, prefix)
	if err != nil {
		return topSeen{err: err}
	}
	var seen topSeen
	for _, n := range survey.Names {
		seen.rows = append(seen.rows, newTopRow(a.newView(n.State, n.Reasons)))
		if n.Err != nil {
			seen.refused = append(seen.refused, n.Err)
		}
	}
	return seen
}

// stateLines are what 'holdfast show' prints of a name.
func (a *app) stateLines(ctx context.Context, client *session, name string, colour bool) []string {
	state, err := a.look(ctx, client, name)
	if err != nil {
		return []string{view.Text(a.explain(err))}
	}
	var text bytes.Buffer
	printState(screen{w: &text, colour: colour}, state)
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

// newTopRow is a name with its worst problem.
func newTopRow(v *View) topRow {
	codes := holdfast.Codes()
	if len(v.reasons) == 0 { // free, without waiters
		return topRow{View: v, rank: len(codes)}
	}
	worst := v.reasons[0]
	return topRow{View: v, rank: slices.Index(codes, worst.Code), bad: worst.Code.Problem(), why: worst.Sentence}
}

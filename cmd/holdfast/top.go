package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/holdfast-go/holdfast"
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
		Short: "Watch the names that are held or waited for",
		Long: `Watch the names that are held or waited for, or those of them that begin with PREFIX,
what somebody should look after first. WHY says how a name stands, as 'holdfast show'
does, which also knows what to do. Times count down in between. Keys:

  up, down, pgup, pgdown, home, end    choose a name; also k and j
  enter    its holder and who waits; esc goes back
  /        show only what contains a text (in name or holder); esc ends that
  s, r     sort by the next column; turn the order round
  a        free names, too
  space    stop, and go on
  ?        the keys
  q        quit

Each look costs what 'holdfast ls' costs, so the whole keyspace is walked every
--interval: on a large server say a longer one.

Where stdin or stdout is no terminal, TERM is dumb, or by --once, one picture is
printed as text. On a small terminal columns are left out.`,
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
	flags.DurationVarP(&o.interval, "interval", "i", defaultTopInterval, "how often to look")
	flags.Var(newChoice(&o.sort, topSorts...), "sort", "what comes first: "+strings.Join(topSorts, ", "))
	flags.BoolVarP(&o.all, "all", "a", false, "list free names too")
	flags.BoolVar(&o.once, "once", false, "print one picture and end")
	return cmd
}

// interactive reports whether there is somebody at keys, and a screen that can be drawn
// on.
func (a *app) interactive() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && screenOf(a.stdout).terminal && os.Getenv("TERM") != "dumb"
}

func (a *app) topOnce(ctx context.Context, o topOptions, prefix string) error {
	client, closeClient, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer closeClient()
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
	a.stderr, a.console = io.Discard, &console{w: io.Discard}
	defer func() { a.stderr, a.console = stderr, said }()
	client, closeClient, err := a.connect(ctx, holdfast.Options{})
	if err != nil {
		return err
	}
	defer closeClient()
	m := newTopModel(ctx, a, client, o, prefix)
	s := screenOf(a.stdout)
	m.colour, m.width, m.height = s.colour, s.width, 24
	_, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(a.stdin), tea.WithOutput(a.stdout)).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return &exitError{code: exitInterrupted}
	}
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

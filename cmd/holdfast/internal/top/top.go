// Package top is 'holdfast top': it shows all names in the terminal and updates them.
package top

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
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

const (
	defaultInterval = 2 * time.Second
	minInterval     = 500 * time.Millisecond
	maxInterval     = time.Minute
	timeout         = 10 * time.Second
)

// options are the flags of `holdfast top`.
type options struct {
	interval  time.Duration
	sort      string
	all, once bool
}

// Command is 'holdfast top'.
func Command(a *cli.App) *cobra.Command {
	var o options
	cmd := a.Command("top [PREFIX]", "Show all locks in the terminal, updated every 2 s", cli.MaybeOne, func(ctx context.Context, args []string) error {
		if o.interval < minInterval || o.interval > maxInterval {
			return cli.Usagef("--interval is %v: it must be from %v to %v", o.interval, minInterval, maxInterval)
		}
		prefix := strings.Join(args, "")
		if o.once || !interactive(a) {
			return connect.On(ctx, a, func(client *connect.Session) error { return topOnce(ctx, a, client, o, prefix) })
		}
		return top(ctx, a, o, prefix)
	})
	flags := cmd.Flags()
	flags.DurationVarP(&o.interval, "interval", "i", defaultInterval, "time between two updates")
	flags.Var(cli.NewChoice(&o.sort, sorts...), "sort", "`COLUMN` to sort by: "+strings.Join(sorts, ", "))
	flags.BoolVarP(&o.all, "all", "a", false, "also show free names")
	flags.BoolVar(&o.once, "once", false, "print one picture as text and end")
	return cmd
}

// interactive reports whether there are a keyboard and a screen that can be drawn on.
func interactive(a *cli.App) bool {
	in, ok := a.Stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && console.ScreenOf(a.Stdout).Terminal && os.Getenv("TERM") != "dumb"
}

func topOnce(ctx context.Context, a *cli.App, client *connect.Session, o options, prefix string) error {
	m := newModel(ctx, a, client, o, prefix)
	seen := m.survey()
	if seen.err != nil {
		return seen.err
	}
	m.take(seen)
	s := console.ScreenOf(a.Stdout)
	m.colour = s.Colour
	if s.Terminal {
		m.width = s.Width
	}
	s.Printf("%s\n%s", m.summary(), m.table(0))
	return inspect.LeftOut(seen.refused)
}

// top draws until q. What is said meanwhile would spoil the picture, and is not.
func top(ctx context.Context, a *cli.App, o options, prefix string) error {
	stderr, said := a.Stderr, a.Console
	a.Stderr, a.Console = io.Discard, console.NewLines(io.Discard)
	defer func() { a.Stderr, a.Console = stderr, said }()
	client, err := connect.Open(ctx, a, holdfast.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	m := newModel(ctx, a, client, o, prefix)
	s := console.ScreenOf(a.Stdout)
	m.colour, m.width, m.height = s.Colour, s.Width, 24
	_, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(a.Stdin), tea.WithOutput(a.Stdout)).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return cli.Exit(cli.ExitInterrupted, nil)
	}
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

// surveyAll reads all names with a prefix.
func surveyAll(ctx context.Context, a *cli.App, client *connect.Session, prefix string) topSeen {
	states, refused, err := inspect.All(ctx, a, client, prefix)
	seen := topSeen{refused: refused, err: err}
	for _, state := range states {
		seen.rows = append(seen.rows, newTopRow(state))
	}
	return seen
}

// stateLines are what 'holdfast show' prints of a name.
func stateLines(ctx context.Context, a *cli.App, client *connect.Session, name string, colour bool) []string {
	state, err := inspect.At(ctx, a, client, name)
	if err != nil {
		return []string{view.Text(a.Explain(err))}
	}
	var text bytes.Buffer
	inspect.PrintState(console.Screen{W: &text, Colour: colour}, state)
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

// newTopRow is a name with its worst problem.
func newTopRow(v *inspect.View) topRow {
	codes := diagnose.Codes()
	if len(v.Reasons) == 0 { // free, without waiters
		return topRow{View: v, rank: len(codes)}
	}
	worst := v.Reasons[0]
	return topRow{View: v, rank: slices.Index(codes, worst.Code), bad: worst.Code.Problem(), why: worst.Sentence}
}

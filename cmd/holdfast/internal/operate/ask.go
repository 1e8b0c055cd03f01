package operate

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/inspect"
	"github.com/holdfast-go/holdfast/internal/view"
	"golang.org/x/term"
)

// asks reports whether there is a terminal to ask for what the command line lacks.
func asks(a *cli.App) bool {
	in, ok := a.Stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && console.ScreenOf(a.Stderr).Terminal && a.Output != "json"
}

// ask shows the holders of a name, and asks for what the command line lacks: the holder
// and the reason. No answer, or a wrong one, is an error: nothing is changed then.
func ask(ctx context.Context, a *cli.App, client *connect.Session, name string, o *Options) error {
	lines := bufio.NewReader(a.Stdin)
	nothing := func(why string) error {
		a.Say("%s: nothing was changed", why)
		return cli.Exit(cli.ExitTempFail, nil)
	}
	if o.Tenure == "" {
		state, err := client.Admin.Inspect(ctx, name)
		if err != nil {
			return err
		}
		holders := Holders(state)
		if len(holders) == 0 {
			return nothing(view.Text(name) + " is free")
		}
		printChoice(a, state, holders)
		answer, err := question(ctx, lines, console.ScreenOf(a.Stderr), "number of the holder (Enter for none)? ")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(answer)
		switch {
		case answer == "":
			return nothing("no holder was selected")
		case err != nil || n < 1 || n > len(holders):
			return nothing("no holder has the number " + view.Text(answer))
		case !IsHash(holders[n-1].Hash):
			return nothing("this holder does not use holdfast")
		}
		o.Tenure = holders[n-1].Hash
	}
	if strings.TrimSpace(o.Reason) == "" {
		answer, err := question(ctx, lines, console.ScreenOf(a.Stderr), "reason (the holder reads it)? ")
		if err != nil {
			return err
		}
		if o.Reason = answer; answer == "" {
			return nothing("no reason was given")
		}
	}
	return nil
}

// Holders returns the listed holders of a name; in cool-down there is none.
func Holders(state *admin.State) []admin.Holder {
	if h := state.Holder; h != nil && !h.Cooldown && len(state.Holders) == 0 {
		return []admin.Holder{*h}
	}
	return state.Holders
}

// listHolders prints the holders for a command that cannot ask, if Redis answers within 2 s.
func listHolders(ctx context.Context, a *cli.App, client *connect.Session, name string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	state, err := client.Admin.Inspect(ctx, name)
	if err != nil {
		return // the command fails anyway
	}
	holders := Holders(state)
	if len(holders) == 0 {
		a.Say("%s is free", view.Text(name))
		return
	}
	a.Say("%s is held by:", view.Text(name))
	s := console.ScreenOf(a.Stderr)
	for i := range holders[:min(len(holders), maxListed)] {
		s.Printf("  %s\n", inspect.HolderLine(s, &holders[i]))
	}
	if more := max(state.Holding, len(holders)) - maxListed; more > 0 {
		s.Printf("  and %d more\n", more)
	}
}

const maxListed = 20 // holders beside an error

// printChoice lists holders by number.
func printChoice(a *cli.App, state *admin.State, holders []admin.Holder) {
	s := console.ScreenOf(a.Stderr)
	for i := range holders {
		s.Printf("%3d  %s\n", i+1, inspect.HolderLine(s, &holders[i]))
	}
	if more := state.Holding - len(holders); more > 0 {
		s.Printf("     and %d more: select one with --tenure\n", more)
	}
}

// question asks for one line. The end of ctx, such as ctrl-C, ends the wait.
func question(ctx context.Context, lines *bufio.Reader, s console.Screen, text string) (answer string, err error) {
	s.Printf("%s", text)
	read := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n') // the end of input is no answer
		read <- strings.TrimSpace(line)
	}()
	select {
	case answer = <-read:
		return answer, nil
	case <-ctx.Done():
		s.Printf("\n")
		return "", ctx.Err()
	}
}

package main

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/internal/view"
	"golang.org/x/term"
)

// asks reports whether there is a terminal to ask for what the command line lacks.
func (a *app) asks() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && screenOf(a.stderr).terminal && a.output != "json"
}

// ask shows the holders of a name, and asks for what the command line lacks: the holder
// and the reason. No answer, or a wrong one, is an error: nothing is changed then.
func (a *app) ask(ctx context.Context, client *session, name string, o *orderOptions) error {
	lines := bufio.NewReader(a.stdin)
	nothing := func(why string) error {
		a.say("%s: nothing was changed", why)
		return exitWith(exitTempFail, nil)
	}
	if o.tenure == "" {
		state, err := client.Inspect(ctx, name)
		if err != nil {
			return err
		}
		holders := state.Holders
		if state.Holder != nil && len(holders) == 0 {
			holders = []holdfast.Holder{*state.Holder}
		}
		if len(holders) == 0 {
			return nothing(view.Text(name) + " is free")
		}
		a.printChoice(state, holders)
		answer, err := question(ctx, lines, screenOf(a.stderr), "number of the holder (Enter for none)? ")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(answer)
		switch {
		case answer == "":
			return nothing("no holder was selected")
		case err != nil || n < 1 || n > len(holders):
			return nothing("no holder has the number " + view.Text(answer))
		case !isHash(holders[n-1].Hash):
			return nothing("this holder does not use holdfast")
		}
		o.tenure = holders[n-1].Hash
	}
	if strings.TrimSpace(o.reason) == "" {
		answer, err := question(ctx, lines, screenOf(a.stderr), "reason (the holder reads it)? ")
		if err != nil {
			return err
		}
		if o.reason = answer; answer == "" {
			return nothing("no reason was given")
		}
	}
	return nil
}

// printChoice lists holders by number.
func (a *app) printChoice(state *holdfast.State, holders []holdfast.Holder) {
	s := screenOf(a.stderr)
	for i := range holders {
		h := &holders[i]
		part := ""
		if text := partText(h.Part); text != "" {
			part = text + "  "
		}
		s.printf("%3d  %s  %s%s  %s  %s\n", i+1, s.paint(bold, holderName(h)), part, leftText(h), h.Hash, view.Text(h.Details.String()))
	}
	if more := state.Holding - len(holders); more > 0 {
		s.printf("     and %d more: select one with --tenure\n", more)
	}
}

// question asks for one line. The end of ctx, such as ctrl-C, ends the wait.
func question(ctx context.Context, lines *bufio.Reader, s screen, text string) (answer string, err error) {
	s.printf("%s", text)
	read := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n') // the end of input is no answer
		read <- strings.TrimSpace(line)
	}()
	select {
	case answer = <-read:
		return answer, nil
	case <-ctx.Done():
		s.printf("\n")
		return "", ctx.Err()
	}
}

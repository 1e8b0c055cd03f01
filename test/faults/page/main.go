// Page keeps what the verification came to in docs/verification/latest.json, and
// makes of it the end of docs/verification.md, and docs/verification/mutants.md.
//
//	go run ./test/faults/page [-histories FILE[,FILE…]]… [-mutants FILE[,FILE…]] …
//
// Each flag takes what one of the runs has written and puts its summary in place of
// what was there; without any the pages are made again. Several files of histories, or of
// mutants, are added up: a long run can be made in parts. The figures in README are
// of it, too.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/test/support/figures"
)

func main() {
	if err := update(os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

const (
	latestFile  = "docs/verification/latest.json"
	mutantsFile = "docs/verification/mutants.md"
	pageFile    = "docs/verification.md"
)

func update(args []string) error {
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	from := make([]source, len(parts))
	for i, p := range parts {
		from[i].part = p
		text := fmt.Sprintf("`file` that %s has written", p.command)
		if p.many {
			text += "; more of them, with commas between or by the flag again, are added up"
		}
		flags.Func(p.flag, text, from[i].add)
	}
	broken := flags.Bool("broken", false, "take histories in which promises were broken, too, and show them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: which flag is it for?", flags.Arg(0))
	}
	var l latest
	if err := figures.ReadJSON(latestFile, &l); errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(latestFile), 0o755)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	for _, s := range from {
		s.broken = *broken
		if err := l.take(s); err != nil {
			return err
		}
	}
	return errors.Join(figures.SaveJSON(latestFile, &l), writeMutants(&l), l.writePage(), writeReadme(&l))
}

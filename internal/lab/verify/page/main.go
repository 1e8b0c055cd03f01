// Page keeps what the verification came to in docs/verification/latest.json, and
// makes of it the end of docs/verification.md, and docs/verification/mutants.md.
//
//	go run ./internal/lab/verify/page [-add] [-histories FILE[,FILE…]]… [-mutants FILE[,FILE…]] …
//
// Each flag takes what one of the runs has written and puts it in place of what was
// there; without any the pages are made anew. Several files of histories, or of
// mutants, are added up: a long run can be made in parts. The figures in README are
// of it, too.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/machine"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
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

func run(args []string) error {
	var l latest
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	from := map[string]*files{}
	for _, p := range parts {
		from[p.flag] = new(files)
		text := fmt.Sprintf("`file` that %s has written", p.command)
		if p.sum != nil {
			text += "; more of them, with commas between or by the flag again, are added up"
		}
		flags.Var(from[p.flag], p.flag, text)
	}
	var how taking
	flags.BoolVar(&how.broken, "broken", false, "take histories in which promises were broken, too, and show them")
	flags.BoolVar(&how.add, "add", false, "add histories to those that are there, and keep them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: which flag is it for?", flags.Arg(0))
	}
	if err := l.read(); err != nil {
		return err
	}
	for _, p := range parts {
		if err := l.take(p, *from[p.flag], how); err != nil {
			return err
		}
	}
	return errors.Join(l.write(), l.writeMutants(), l.writePage(), l.writeReadme())
}

// files are names of files, of a flag that may be given again.
type files []string

func (f *files) String() string { return strings.Join(*f, ",") }

// Set adds names, with commas between.
func (f *files) Set(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			return errors.New("a file without a name")
		}
		*f = append(*f, name)
	}
	return nil
}

// read reads what is known, if there is anything.
func (l *latest) read() error {
	text, err := os.ReadFile(latestFile)
	if errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(filepath.Dir(latestFile), 0o755)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, l)
}

// take puts a part in place of the one before, if there is one.
func (l *latest) take(p part, names files, how taking) error {
	if l.Runs == nil {
		l.Runs = map[string]origin{}
	}
	switch {
	case len(names) == 0:
		return nil
	case p.sum != nil:
		return p.sum(l, names, p.command, how)
	case len(names) > 1:
		return fmt.Errorf("-%s takes one file", p.flag)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, p.of(l)); err != nil {
		return fmt.Errorf("%s: %w", names[0], err)
	}
	l.Runs[p.flag] = origin{Command: p.command, Date: time.Now().Format(time.DateOnly), Machine: machine.WithServer()}
	return nil
}

func (l *latest) write() error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(latestFile, append(text, '\n'), 0o644)
}

// Page keeps what the verification came to in docs/verification/latest.json, and
// makes of it the end of docs/verification.md, and docs/verification/mutants.md.
//
//	go run ./internal/lab/verify/page [-histories FILE] [-mutants FILE] …
//
// Each flag takes what one of the runs has written and puts it in place of what was
// there; without any the pages are made anew.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

const (
	latestFile  = "docs/verification/latest.json"
	mutantsFile = "docs/verification/mutants.md"
	pageFile    = "docs/verification.md"
)

func run() error {
	var l latest
	if err := l.read(); err != nil {
		return err
	}
	from := map[string]*string{}
	for _, p := range parts {
		from[p.flag] = flag.String(p.flag, "", fmt.Sprintf("`file` that %s has written", p.command))
	}
	flag.Parse()
	for _, p := range parts {
		if file := *from[p.flag]; file != "" {
			if err := l.take(p, file); err != nil {
				return err
			}
		}
	}
	return errors.Join(l.write(), l.writeMutants(), l.writePage())
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

// take puts a part in place of the one before.
func (l *latest) take(p part, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, p.of(l)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if l.Runs == nil {
		l.Runs = map[string]origin{}
	}
	l.Runs[p.flag] = origin{p.command, time.Now().Format(time.DateOnly), machine()}
	return nil
}

func (l *latest) write() error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(latestFile, append(text, '\n'), 0o644)
}

package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Where the committed figures and the page made of them lie, from the root of
// the repository.
const (
	latestFile = "docs/benchmarks/latest.json"
	pageFile   = "docs/benchmarks.md"
)

// Main is the program behind cmd. Figures go to stdout, talk to stderr.
func Main(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	inSeconds := flags.Bool("quick", false, "one short round: shows that all runs, its figures are of little worth")
	format := flags.String("o", "text", "what to print: `text or json`")
	rounds := flags.Int("rounds", 0, "how many rounds; 0 for 5, with -quick 1")
	server := flags.String("redis-server", "", "the `path` of the server to start (default redis-server in PATH)")
	page := flags.Bool("report", false, "measure nothing: make "+pageFile+" of "+latestFile+", from the root of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("what is %q? there are flags only", flags.Arg(0))
	}
	if *page {
		return writePage(stderr)
	}
	s := full
	if *inSeconds {
		s = quick
	}
	if *rounds > 0 {
		s.rounds = *rounds
	}
	show := map[string]func(io.Writer, Report) error{"json": printJSON, "text": printText}[*format]
	if show == nil {
		return fmt.Errorf("-o %s: only text and json are known", *format)
	}
	report, err := run(s, *server, command(s, *inSeconds), stderr)
	if err != nil {
		return err
	}
	return errors.Join(show(stdout, report), report.overlapped())
}

// command is the command line that would do the same again.
func command(s settings, inSeconds bool) string {
	text := "go run ./internal/lab/bench/cmd"
	if inSeconds {
		text += " -quick"
	}
	return fmt.Sprintf("%s -rounds %d", text, s.rounds)
}

func printJSON(w io.Writer, r Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// writePage makes the page of the committed figures.
func writePage(stderr io.Writer) error {
	text, err := os.ReadFile(filepath.FromSlash(latestFile))
	if err != nil {
		return fmt.Errorf("%w: run this from the root of the repository", err)
	}
	page, err := Page(text)
	if err != nil {
		return fmt.Errorf("%s: %w", latestFile, err)
	}
	if err := os.WriteFile(filepath.FromSlash(pageFile), page, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "bench: wrote %s\n", pageFile)
	return err
}

// overlapped is an error when holdfast let two hold one name: the run's figures
// are still printed, but the run has failed. What peers do is only reported.
func (r *Report) overlapped() error {
	for _, row := range r.Rows {
		if row.Who == "holdfast" && row.Overlaps > 0 {
			return fmt.Errorf("%s: %d overlaps of two holders", row.Workload, row.Overlaps)
		}
	}
	return nil
}

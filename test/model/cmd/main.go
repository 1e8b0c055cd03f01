// Model goes through all states of the client and of a model of the quorum within bounds, and
// finds each mutant of the model. See spec/README.md.
//
//	go run ./test/model/cmd [-large] [-run REGEXP] [-trace REGEXP] [-o text|json]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/test/model"
	"github.com/holdfast-go/holdfast/test/model/quorum"
)

func main() {
	large := flag.Bool("large", false, "the large bounds, too")
	only := flag.String("run", "", "only bounds whose model and name match this `regexp`")
	trace := flag.String("trace", "", "print how the mutants are found whose guard matches this `regexp`, and nothing else")
	form := flag.String("o", "text", "`form` of the output: text or json")
	flag.Parse()
	if err := run(*large, *only, *trace, *form, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

// line is one search.
type line struct {
	Model       string  `json:"model"`
	Bounds      string  `json:"bounds"`
	Guard       string  `json:"guard,omitempty"` // that was taken out
	States      int     `json:"states"`
	Transitions int     `json:"transitions"`
	Depth       int     `json:"depth"`
	Seconds     float64 `json:"seconds"`
	Whole       bool    `json:"whole"` // all states were looked at
	Broken      string  `json:"broken,omitempty"`
	Good        bool    `json:"good"` // as it must be
}

// job is a search that is to be made.
type job struct {
	line
	want   string
	search func(model.Limits) model.Result
	who    func(int) string
}

func jobs(large bool) (all []job) {
	add := func(name, bounds, guard, want string, who func(int) string, search func(model.Limits) model.Result) {
		all = append(all, job{line{Model: name, Bounds: bounds, Guard: guard}, want, search, who})
	}
	quorums := quorum.Small()
	if large {
		quorums = append(quorums, quorum.Large()...)
	}
	for _, b := range quorums {
		add("quorum", b.Name, "", "", quorum.Who, func(l model.Limits) model.Result { return model.Search(&quorum.Model{Bounds: b}, l) })
	}
	for _, f := range quorum.Finds() {
		add("quorum", "", f.Guard, f.Broken, quorum.Who, func(l model.Limits) model.Result {
			return model.Search(&quorum.Model{Bounds: f.Bounds, Mutant: f.Mutant}, l)
		})
	}
	return all
}

// searchClient runs the search of the client, which is a test of internal/machine.
func searchClient(large, wanted bool) (lines []line, err error) {
	if !wanted {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, size := filepath.Join(dir, "searched.json"), "-search.medium"
	if large {
		size = "-search.large"
	}
	cmd := exec.Command("go", "test", "-count", "1", "-timeout", "6h", "-run", "^TestSearch$", //nolint:noctx // it ends by itself
		"github.com/holdfast-go/holdfast/internal/machine", "-args", size, "-search.json", file)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the search of the client: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return lines, json.Unmarshal(text, &lines)
}

func run(large bool, only, trace, form string, out io.Writer) error {
	if form != "text" && form != "json" {
		return fmt.Errorf("-o %s: want text or json", form)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	tracing, err := regexp.Compile(trace)
	if err != nil {
		return err
	}
	lines, err := searchClient(large, trace == "" && pattern.MatchString("client "))
	if err != nil {
		return err
	}
	bad := 0
	for _, j := range jobs(large) {
		if !pattern.MatchString(j.Model+" "+j.Bounds+j.Guard) || trace != "" && (j.Guard == "" || !tracing.MatchString(j.Guard)) {
			continue
		}
		r := j.search(model.Limits{Progress: os.Stderr, Name: j.Model + ", " + j.Bounds + j.Guard})
		if trace != "" {
			fmt.Fprintf(out, "%s without this guard: %s\n", j.Model, j.Guard)
			model.WriteTrace(out, r, j.who)
			continue
		}
		l := j.line
		l.States, l.Transitions, l.Depth, l.Seconds = r.States, r.Transitions, r.Depth, r.Took.Seconds()
		l.Whole, l.Broken = r.Whole, r.Broken
		l.Good = r.Broken == j.want && (j.want != "" || r.Whole)
		if !l.Good {
			bad++
			if r.Broken != "" {
				model.WriteTrace(os.Stderr, r, j.who)
			}
		}
		lines = append(lines, l)
	}
	if err := show(out, form, lines); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d searches did not end as they must", bad)
	}
	return nil
}

func show(out io.Writer, form string, lines []line) error {
	if len(lines) == 0 {
		return nil
	}
	if form == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(lines)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "model\tbounds, or the guard that is taken out\tstates\ttransitions\tdepth\tseconds\t")
	found, mutants := 0, 0
	for _, l := range lines {
		what, end := l.Bounds, "all states good"
		if l.Guard != "" {
			what, end = "without: "+l.Guard, "found: "+l.Broken
			if mutants++; l.Good {
				found++
			}
		}
		if !l.Good {
			end = "NOT AS IT MUST BE: " + l.Broken
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%.1f\t%s\n", l.Model, what, l.States, l.Transitions, l.Depth, l.Seconds, end)
	}
	fmt.Fprintf(w, "%d of %d mutants found\n", found, mutants)
	return w.Flush()
}

package bench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/bulk"
	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/report"
	"github.com/holdfast-go/holdfast/test/support/figures"
)

const usage = `usage: go run ./test/bench/cmd [flags]

Measures holdfast beside other lock libraries, in turn, in one run, against a
redis-server (and an etcd, where there is one) that it starts itself. Figures go
to stdout, progress to stderr. It fails when holdfast let two hold one name, and
when it, or a limit, could not be measured.

`

// options are the command line.
type options struct {
	quick, check, save, page bool
	format, note             string
	rounds                   int
	window                   time.Duration
	run, who                 *regexp.Regexp
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var err error
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	match := func(to **regexp.Regexp) func(string) error {
		return func(text string) error {
			*to, err = regexp.Compile(text)
			return err
		}
	}
	flags.BoolVar(&o.quick, "quick", false, "one short round: shows that all runs, its figures are of little worth")
	flags.BoolVar(&o.check, "check", false, "then compare with "+report.LatestFile+", as ratios to the limits of the same run; fail if something got slower")
	flags.BoolVar(&o.save, "save", false, "then keep the figures in "+report.LatestFile+" and make "+report.PageFile+" and the plots; with -run in place of those of the same workloads, and the others stay")
	flags.BoolVar(&o.page, "report", false, "measure nothing: make "+report.PageFile+" and the plots of "+report.LatestFile+", from the root of the repository")
	flags.StringVar(&o.format, "o", "text", "what to print: `text or json`")
	flags.StringVar(&o.note, "note", "", "a `sentence` to keep with the figures: what a reader must know of this run")
	flags.IntVar(&o.rounds, "rounds", 0, "how many rounds; 0 for 7, with -quick 1")
	flags.DurationVar(&o.window, "window", 0, "how long a cell is measured; 0 for 700 ms, with -quick 60 ms; B4 to B6 take twice as long")
	flags.Func("run", "only workloads whose name matches this `regexp`, as B1 or 'B[3-5]'", match(&o.run))
	flags.Func("who", "only those whose name matches this `regexp`, as '^(holdfast|limit)'", match(&o.who))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("what is %q? there are flags only", flags.Arg(0))
	}
	if o.save && o.who != nil {
		return o, errors.New("-save with -who: rows are compared with those of the same run, so a workload is measured of all or not kept")
	}
	if o.format != "text" && o.format != "json" {
		return o, fmt.Errorf("-o %s: only text and json are known", o.format)
	}
	return o, nil
}

func (o options) settings() contend.Settings {
	s := contend.Full
	if o.quick {
		s = contend.Quick
	}
	if o.rounds > 0 {
		s.Rounds = o.rounds
	}
	if o.window > 0 {
		s.Timing.Window = o.window
	}
	return s
}

func (o options) scale() bulk.Scale {
	if o.quick {
		return bulk.Quick
	}
	return bulk.Full
}

// Main is the program behind cmd. Figures go to stdout, talk to stderr.
func Main(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.page {
		return report.WritePage(stderr)
	}
	r := &runner{settings: o.settings(), run: o.run, who: o.who, talk: stderr}
	command := strings.Join(append([]string{"go run ./test/bench/cmd"}, args...), " ")
	found, err := r.report(command)
	if err != nil {
		return err
	}
	found.Note = o.note
	if !o.check {
		var failed error
		if found.Bulk, failed = bulk.Run(o.scale(), o.run, stderr); failed != nil {
			r.failed = append(r.failed, failed)
		}
	}
	if o.format == "json" {
		err = figures.WriteJSON(stdout, found)
	} else {
		err = report.PrintText(stdout, &found)
	}
	if err != nil {
		return err
	}
	if o.save {
		err = report.Save(&found, o.run != nil, stderr)
	}
	if o.check {
		err = errors.Join(err, report.Check(&found, stderr))
	}
	return errors.Join(err, report.Overlapped(&found), errors.Join(r.failed...))
}

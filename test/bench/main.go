// Package bench measures holdfast beside other lock libraries of Go, in turn, in one run, on a
// redis-server that it starts itself.
//
// Package rivals has the contenders. Package callers has the workloads, and measures callers in a loop.
// Package probes measures all else. Package report compares, prints and keeps the figures. To add a
// library, add a contender to rivals and to a workload. The program is cmd:
//
//	make bench                                        # all tables, a quarter of an hour
//	make bench-quick                                  # that all runs; the figures mean little
//	go run ./test/bench/cmd -run '^B4$' -who 'holdfast|redislock' -rounds 3
//	go run ./test/bench/cmd -run '^F' -save           # keep these; other figures stay
//	go run ./test/bench/cmd -before HEAD~1 -run '^C'  # what a change costs
//
// Each round gives every workload to all contenders, one after the other, in another order. So a
// machine that gets slower for a while does so for all of them. The median of the rounds counts. A
// ratio is taken within each round first.
package bench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/report"
)

// options are the command line.
type options struct {
	quick, check, save, page bool
	format, note, before     string
	rounds                   int
	window                   time.Duration
	worse                    float64
	run, who                 *regexp.Regexp
}

// What a run takes whose figures count.
const (
	fullRounds = 7
	fullWindow = 700 * time.Millisecond
)

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{run: regexp.MustCompile(""), who: regexp.MustCompile("")}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.quick, "quick", false, "one short round and small numbers: shows that all runs")
	flags.BoolVar(&o.check, "check", false, "then compare with "+report.LatestFile+", as ratios to the limits of the same run; fail if something got slower")
	flags.BoolVar(&o.save, "save", false, "then keep the figures in "+report.LatestFile+", in place of those of the same workloads, and make "+report.PageFile)
	flags.BoolVar(&o.page, "report", false, "measure nothing: make "+report.PageFile+" of "+report.LatestFile)
	flags.StringVar(&o.before, "before", "", "measure only holdfast, of this `commit` and of the working tree, and compare")
	flags.Float64Var(&o.worse, "worse", 0, "with -before: fail if a median is worse by more than so many `percent`; 0 for never")
	flags.StringVar(&o.format, "o", "text", "what to print: `text or json`")
	flags.StringVar(&o.note, "note", "", "a `sentence` to keep with the figures: what a reader must know of this run")
	flags.IntVar(&o.rounds, "rounds", fullRounds, "how many rounds")
	flags.DurationVar(&o.window, "window", fullWindow, "how long one contender is measured in one round; in some workloads twice as long")
	flags.TextVar(o.run, "run", o.run, "only workloads whose name matches this `regexp`, as '^B1$' or 'B[3-5]'")
	flags.TextVar(o.who, "who", o.who, "only contenders whose name matches this `regexp`, as '^(holdfast|limit)'")
	flags.Usage = func() {
		fmt.Fprint(stderr, "Measures holdfast beside other lock libraries. Flags:\n\n")
		flags.PrintDefaults()
		fmt.Fprint(stderr, "\nWorkloads, by the names that -run matches:\n\n")
		for _, t := range (&runner{options: o}).tasks() {
			fmt.Fprintf(stderr, "  %-4s %s\n", t.name, t.says)
		}
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.rounds, o.window = 1, 250*time.Millisecond // less may pass without a lock on a busy machine
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("what is %q? there are flags only", flags.Arg(0))
	case len((&runner{options: o}).tasks()) == 0:
		return o, fmt.Errorf("-run %s matches no workload: -help lists them", o.run)
	case o.save && (o.who.String() != "" || o.before != ""):
		return o, errors.New("-save with -who or -before: rows are compared with those of the same run, so a workload is measured of all or not kept")
	case o.format != "text" && o.format != "json":
		return o, fmt.Errorf("-o %s: only text and json are known", o.format)
	}
	return o, nil
}

// Main is the program. Figures go to stdout, progress to stderr. It fails if holdfast let two hold one
// name, and if it, or a limit, could not be measured.
func Main(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	latest := &report.Report{}
	if o.page || o.check || o.save {
		if latest, err = report.Read(); err != nil {
			return err
		}
	}
	if o.page {
		return latest.Save()
	}
	r := &runner{options: o, talk: stderr}
	found, err := r.report(args)
	if err != nil {
		return err
	}
	switch {
	case o.format == "json":
		err = found.WriteJSON(stdout)
	case o.before != "":
		err = found.CompareBefore(o.worse, stdout)
	default:
		err = found.Print(stdout)
	}
	if o.save {
		err = errors.Join(err, latest.With(found).Save())
	}
	if o.check {
		err = errors.Join(err, found.Check(latest, stdout))
	}
	return errors.Join(err, found.Overlapped(), errors.Join(r.failed...))
}

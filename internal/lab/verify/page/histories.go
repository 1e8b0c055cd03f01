package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/machine"
)

// histories are what TestVerify writes, or several such added up.
type histories struct {
	counts
	Seconds float64             `json:"seconds"`
	Cells   map[string]counts   `json:"cells"`
	Found   []finding           `json:"found,omitempty"`  // what broke a promise
	Broken  []string            `json:"broken,omitempty"` // what went wrong with the harness; of a sum: Failed
	Failed  int                 `json:"harness_failed,omitempty"`
	LeftOut map[string][]string `json:"left_out,omitempty"` // cells that could not be played, by the reason
}

// counts are sums over histories.
type counts struct {
	Histories  int `json:"histories"`
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Faults     int `json:"faults"`
	Ended      int `json:"ended"`
	Late       int `json:"late"`
	Slow       int `json:"slow"`
	Undecided  int `json:"undecided"`
	Violations int `json:"violations"`

	Silent float64 `json:"silent_seconds,omitempty"` // the longest of all
}

// finding is a history that broke a promise.
type finding struct {
	Cell       string   `json:"cell"`
	Seed       uint64   `json:"seed"`
	Violations []string `json:"violations"`
	Replay     string   `json:"replay"`
}

// stage is one of several runs that were added up.
type stage struct {
	Command   string  `json:"command"`
	Date      string  `json:"date"`
	Machine   string  `json:"machine"`
	Histories int     `json:"histories"`
	Seconds   float64 `json:"seconds"`
}

func (c *counts) add(o counts) {
	c.Histories += o.Histories
	c.Operations += o.Operations
	c.Grants += o.Grants
	c.Faults += o.Faults
	c.Ended += o.Ended
	c.Late += o.Late
	c.Slow += o.Slow
	c.Undecided += o.Undecided
	c.Violations += o.Violations
	c.Silent = max(c.Silent, o.Silent)
}

// takeHistories puts the sum of what the files say in place of what was there.
// Where a promise was broken it refuses, unless that is to be shown.
func (l *latest) takeHistories(files []string, command string, broken bool) error {
	l.histories = histories{Cells: map[string]counts{}}
	var stages []stage
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(texts, func(t []byte) bool { return bytes.Equal(t, text) }); i >= 0 {
			return fmt.Errorf("%s is the same as %s: it would count twice", file, files[i])
		}
		texts = append(texts, text)
		var h histories
		s := stage{Command: command, Machine: machine.WithServer()}
		if err := errors.Join(json.Unmarshal(text, &h), json.Unmarshal(text, &s)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if h.Histories == 0 {
			return fmt.Errorf("%s has no histories: is it what -result of TestVerify has written?", file)
		}
		if h.Violations > 0 && !broken {
			return fmt.Errorf("%s: %d promises were broken in it; -broken takes it all the same, and shows them", file, h.Violations)
		}
		if s.Date == "" {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			s.Date = info.ModTime().Format(time.DateOnly)
		}
		l.addHistories(h)
		stages = append(stages, s)
	}
	l.Runs["histories"] = originOf(stages)
	return nil
}

// addHistories adds those of one run.
func (l *latest) addHistories(h histories) {
	l.add(h.counts)
	l.Seconds += h.Seconds
	l.Failed += len(h.Broken)
	for name, c := range h.Cells {
		sum := l.Cells[name]
		sum.add(c)
		l.Cells[name] = sum
	}
	for _, f := range h.Found {
		f.Violations = slices.DeleteFunc(f.Violations, func(v string) bool { return strings.HasPrefix(v, "harness: ") })
		if len(f.Violations) > 0 {
			l.Found = append(l.Found, f)
		}
	}
	for reason, cells := range h.LeftOut {
		if l.LeftOut == nil {
			l.LeftOut = map[string][]string{}
		}
		all := slices.Concat(l.LeftOut[reason], cells)
		slices.Sort(all)
		l.LeftOut[reason] = slices.Compact(all)
	}
}

// leftOut are the cells that no run has played.
func (l *latest) leftOut(reason string) (cells []string) {
	for _, cell := range l.LeftOut[reason] {
		if l.Cells[cell].Histories == 0 {
			cells = append(cells, cell)
		}
	}
	return cells
}

// originOf is where a sum comes from: of one run, that itself.
func originOf(stages []stage) origin {
	first := stages[0]
	o := origin{Command: first.Command, Date: first.Date, Machine: first.Machine}
	if len(stages) > 1 {
		o.Parts = stages
	}
	return o
}

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

// contexts are the leases that ended by their deadline in a process that ran, in
// histories that were made to count them.
type contexts struct {
	Histories int `json:"histories"`
	Ended     int `json:"ended"`
	Late      int `json:"late"`
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

// takeHistories puts the sum of what the files say in place of what was there, or
// adds it.
func (l *latest) takeHistories(files []string, command string, how taking) error {
	sum, stages, err := readHistories(files, command, how.broken)
	if err != nil {
		return err
	}
	if how.add {
		stages = append(stagesOf(l.Runs["histories"], l.histories), stages...)
		sum.addRun(l.histories)
		sum.Failed += l.Failed
	}
	l.histories, l.Runs["histories"] = sum, originOf(stages)
	return nil
}

// takeContexts keeps, of such a sum, how many contexts ended, and how many of them
// late: of histories that were made for it, where the machine had time.
func (l *latest) takeContexts(files []string, command string, _ taking) error {
	sum, stages, err := readHistories(files, command, false) // what they broke would not be shown
	if err != nil {
		return err
	}
	l.Contexts = &contexts{Histories: sum.Histories, Ended: sum.Ended, Late: sum.Late}
	l.Runs["contexts"] = originOf(stages)
	return nil
}

// readHistories adds up what the files say. Where a promise was broken it refuses,
// unless that is to be shown.
func readHistories(files []string, command string, broken bool) (sum histories, stages []stage, err error) {
	sum.Cells = map[string]counts{}
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return sum, nil, err
		}
		if i := slices.IndexFunc(texts, func(t []byte) bool { return bytes.Equal(t, text) }); i >= 0 {
			return sum, nil, fmt.Errorf("%s is the same as %s: it would count twice", file, files[i])
		}
		texts = append(texts, text)
		var h histories
		s := stage{Command: command, Machine: machine.WithServer()}
		if err := errors.Join(json.Unmarshal(text, &h), json.Unmarshal(text, &s)); err != nil {
			return sum, nil, fmt.Errorf("%s: %w", file, err)
		}
		if h.Histories == 0 {
			return sum, nil, fmt.Errorf("%s has no histories: is it what -result of TestVerify has written?", file)
		}
		if h.Violations > 0 && !broken {
			return sum, nil, fmt.Errorf("%s: %d promises were broken in it; -broken takes such histories all the same, and shows them", file, h.Violations)
		}
		if s.Date == "" {
			info, err := os.Stat(file)
			if err != nil {
				return sum, nil, err
			}
			s.Date = info.ModTime().Format(time.DateOnly)
		}
		sum.addRun(h)
		stages = append(stages, s)
	}
	return sum, stages, nil
}

// addRun adds those of one run.
func (sum *histories) addRun(h histories) {
	sum.add(h.counts)
	sum.Seconds += h.Seconds
	sum.Failed += len(h.Broken)
	for name, c := range h.Cells {
		cell := sum.Cells[name]
		cell.add(c)
		sum.Cells[name] = cell
	}
	for _, f := range h.Found {
		f.Violations = slices.DeleteFunc(f.Violations, func(v string) bool { return strings.HasPrefix(v, "harness: ") })
		if len(f.Violations) > 0 {
			sum.Found = append(sum.Found, f)
		}
	}
	for reason, cells := range h.LeftOut {
		if sum.LeftOut == nil {
			sum.LeftOut = map[string][]string{}
		}
		all := slices.Concat(sum.LeftOut[reason], cells)
		slices.Sort(all)
		sum.LeftOut[reason] = slices.Compact(all)
	}
}

// leftOut are the cells that no run has played.
func (sum *histories) leftOut(reason string) (cells []string) {
	for _, cell := range sum.LeftOut[reason] {
		if sum.Cells[cell].Histories == 0 {
			cells = append(cells, cell)
		}
	}
	return cells
}

// stagesOf are the runs that a sum is of.
func stagesOf(o origin, sum histories) []stage {
	switch {
	case o.Command == "":
		return nil
	case len(o.Parts) > 0:
		return o.Parts
	}
	return []stage{{o.Command, o.Date, o.Machine, sum.Histories, sum.Seconds}}
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

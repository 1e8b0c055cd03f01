package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/support/figures"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// latest is docs/verification/latest.json: a summary of each kind of run, and how
// each run was made. What the runs themselves have written is not kept.
// The page that is made of it stands in page.go.
type latest struct {
	histories
	Contexts *contexts       `json:"contexts,omitempty"`
	Mutants  mutants         `json:"mutants"`
	Controls controls        `json:"negative_controls"`
	Models   []model         `json:"models,omitempty"`
	Stories  stories         `json:"simulation"`
	Peers    map[string]peer `json:"peers,omitempty"`
	Soak     soak            `json:"soak,omitzero"`
	Runs     []run           `json:"runs"`
}

// run is how a part of the summary was found: of histories and mutants, one of several
// runs that were added up.
type run struct {
	Of        string  `json:"of"` // the flag that took it
	Command   string  `json:"command"`
	Date      string  `json:"date"`
	Machine   string  `json:"machine"`
	Histories int     `json:"histories,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
}

// part is a kind of run.
type part struct {
	flag    string
	command string // that writes the file
	many    bool   // several files are added up
	take    func(l *latest, from source) error
}

// source is what a flag has got. What it says of histories stands in histories.go.
type source struct {
	part
	files  []string
	broken bool // also histories in which promises were broken
}

// parts are the runs, each with the flag that takes what it has written.
var parts = []part{
	{"histories", "make verify-long", true, takeHistories},
	{"contexts", "go test -run '^TestVerify$' ./test/faults -args -parallel-histories 2", true, takeContexts},
	{"controls", "go test -run '^TestControls$' ./test/faults", false, one(keepControls)},
	{"peers", peersCommand, false, one(keepPeers)},
	{"simulation", `make simulate SIM="-seeds N"`, false, one(keepStories)},
	{"models", "go run ./test/model/cmd -o json", false, one(keepModels)},
	{"soak", "make soak", false, one(func(l *latest, s soakResult) { l.Soak = s.soak() })},
	{"mutants", "make mutants", true, takeMutants},
}

// peersCommand plays the peers as docs/verification.md says.
const peersCommand = `go test -run '^TestPeers$' -timeout 30m ./test/faults -args -peer-histories 2 -peer-scenario '^standalone/(none|client-frozen/.*|nth-answer-lost|server-frozen)$'`

// one takes a run that is one file.
func one[T any](keep func(l *latest, result T)) func(*latest, source) error {
	return func(l *latest, from source) error {
		var result T
		if err := figures.ReadJSON(from.files[0], &result); err != nil {
			return err
		}
		keep(l, result)
		l.ran(from.flag, from.now())
		return nil
	}
}

// now is a run of today, on this machine.
func (s source) now() run {
	return run{Of: s.flag, Command: s.command, Date: time.Now().Format(time.DateOnly), Machine: host.WithServer()}
}

// add adds names of files, with commas between.
func (s *source) add(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			return errors.New("a file without a name")
		}
		s.files = append(s.files, name)
	}
	return nil
}

// take puts a part in place of the one before, if there is one.
func (l *latest) take(from source) error {
	switch {
	case len(from.files) == 0:
		return nil
	case len(from.files) > 1 && !from.many:
		return fmt.Errorf("-%s takes one file", from.flag)
	}
	return from.take(l, from)
}

// ran notes the runs of a part in place of those before.
func (l *latest) ran(part string, runs ...run) {
	l.Runs = slices.DeleteFunc(l.Runs, func(r run) bool { return r.Of == part })
	l.Runs = append(l.Runs, runs...)
}

// of are the runs of a part.
func (l *latest) of(part string) (runs []run) {
	for _, r := range l.Runs {
		if r.Of == part {
			runs = append(runs, r)
		}
	}
	return runs
}

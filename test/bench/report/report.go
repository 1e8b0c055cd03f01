// Package report keeps what a run found, judges it, and makes docs/benchmarks.md of it.
package report

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/test/bench/contend"
	"github.com/holdfast-go/holdfast/test/bench/limit"
	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/figures"
	"github.com/holdfast-go/holdfast/test/support/host"
)

// Report is what a run found. It is what -o json prints and what
// docs/benchmarks/latest.json keeps.
type Report struct {
	Machine  string            `json:"machine"`
	Date     string            `json:"date"`
	Command  string            `json:"command"`
	Short    bool              `json:"short,omitempty"` // less than a full run
	Note     string            `json:"note,omitempty"`  // what a reader must know of this very run
	Rounds   int               `json:"rounds"`
	Window   string            `json:"window"`
	Versions map[string]string `json:"versions"`
	Settings map[string]string `json:"settings"`        // of each contender, in the family by workload and contender
	Parts    []Part            `json:"parts,omitempty"` // what was measured later
	Bulk     []BulkRow         `json:"bulk,omitempty"`  // what is about numbers, and has figures of its own
	Rows     []Row             `json:"rows"`
}

// Figures are what is measured of one contender in one workload.
type Figures struct {
	OpsPerSecond float64            `json:"ops_per_s"`
	P50          float64            `json:"p50_us"` // of the waits
	P99          float64            `json:"p99_us"`
	Max          float64            `json:"max_us"`
	Jain         float64            `json:"jain"`
	Commands     float64            `json:"commands_per_op"`
	InScripts    float64            `json:"script_commands_per_op"`
	ClientCPU    float64            `json:"client_cpu_us_per_op"`
	ServerCPU    float64            `json:"server_cpu_us_per_op"`
	HandoverP50  float64            `json:"handover_p50_us,omitempty"` // from a release to the grant in another process
	HandoverP99  float64            `json:"handover_p99_us,omitempty"`
	Extra        map[string]float64 `json:"extra,omitempty"` // what a workload of another shape measures
}

// Row is one contender in one workload: medians over the rounds, except for Max,
// which is the longest of all, and for Overlaps and Failed, which are sums.
type Row struct {
	Workload string `json:"workload"`
	Who      string `json:"who"`
	Figures
	Overlaps int64   `json:"overlaps"`
	Failed   int64   `json:"failed,omitempty"` // calls that returned another error than the end of ctx
	Failure  string  `json:"failure,omitempty"`
	Each     []Round `json:"each,omitempty"`
}

// Round is what one round found.
type Round struct {
	Round int `json:"round"`
	Figures
}

// NewReport is one of this machine, and of now.
func NewReport(s contend.Settings, command string) Report {
	r := Report{
		Machine:  host.Describe(),
		Date:     time.Now().UTC().Format(time.DateOnly),
		Command:  command,
		Short:    s.Rounds < contend.Full.Rounds || s.Timing.Window < contend.Full.Timing.Window,
		Rounds:   s.Rounds,
		Window:   s.Timing.Window.String(),
		Versions: versions(),
		Settings: map[string]string{},
	}
	for _, c := range slices.Concat(workload.Contenders(), limit.Limits) {
		r.Settings[c.Who] = c.Settings
	}
	for _, w := range workload.Family {
		for _, c := range w.Own {
			r.Settings[w.Name+" "+c.Who] = c.Settings
		}
	}
	return r
}

// figure is one of the Figures, and the decimals it is kept to.
type figure struct {
	of       func(*Figures) *float64
	decimals int
	longest  bool // of all rounds counts, and not the median
}

var (
	opsFigure         = figure{of: func(f *Figures) *float64 { return &f.OpsPerSecond }, decimals: 1}
	p50Figure         = figure{of: func(f *Figures) *float64 { return &f.P50 }, decimals: 2}
	p99Figure         = figure{of: func(f *Figures) *float64 { return &f.P99 }, decimals: 2}
	maxFigure         = figure{of: func(f *Figures) *float64 { return &f.Max }, decimals: 1, longest: true}
	jainFigure        = figure{of: func(f *Figures) *float64 { return &f.Jain }, decimals: 4}
	commandsFigure    = figure{of: func(f *Figures) *float64 { return &f.Commands }, decimals: 3}
	inScriptsFigure   = figure{of: func(f *Figures) *float64 { return &f.InScripts }, decimals: 3}
	clientCPUFigure   = figure{of: func(f *Figures) *float64 { return &f.ClientCPU }, decimals: 2}
	serverCPUFigure   = figure{of: func(f *Figures) *float64 { return &f.ServerCPU }, decimals: 2}
	handoverP50Figure = figure{of: func(f *Figures) *float64 { return &f.HandoverP50 }, decimals: 1}
	handoverP99Figure = figure{of: func(f *Figures) *float64 { return &f.HandoverP99 }, decimals: 1}
)

var everyFigure = []figure{
	opsFigure, p50Figure, p99Figure, maxFigure, jainFigure, commandsFigure, inScriptsFigure,
	clientCPUFigure, serverCPUFigure, handoverP50Figure, handoverP99Figure,
}

// Merge makes one row of the rows of all rounds.
func Merge(rows []Row, rounds []int) Row {
	all := rows[0]
	for i, r := range rows {
		for _, f := range everyFigure {
			*f.of(&r.Figures) = round(*f.of(&r.Figures), f.decimals)
		}
		all.Each = append(all.Each, Round{rounds[i], r.Figures})
		if i == 0 {
			continue
		}
		all.Overlaps += r.Overlaps
		all.Failed += r.Failed
		if all.Failure == "" {
			all.Failure = r.Failure
		}
	}
	all.Figures = middle(all.Each)
	return all
}

// middle is the median of each figure, and the longest wait of all.
func middle(rounds []Round) Figures {
	var m Figures
	for _, f := range everyFigure {
		var values []float64
		for i := range rounds {
			values = append(values, *f.of(&rounds[i].Figures))
		}
		*f.of(&m) = round(figures.Median(values), f.decimals)
		if f.longest {
			*f.of(&m) = slices.Max(values)
		}
	}
	for name := range rounds[0].Extra {
		var values []float64
		for _, r := range rounds {
			values = append(values, r.Extra[name])
		}
		if m.Extra == nil {
			m.Extra = map[string]float64{}
		}
		m.Extra[name] = figures.Median(values)
	}
	return m
}

// Of returns the rows of one workload by who they are of.
func (r *Report) Of(workload string) map[string]*Row {
	rows := map[string]*Row{}
	for i := range r.Rows {
		if r.Rows[i].Workload == workload {
			rows[r.Rows[i].Who] = &r.Rows[i]
		}
	}
	return rows
}

// Of is the workload.
func (row Row) Of() string { return row.Workload }

// isMeasure reports whether a row is of another library, one whose lock held: a
// fast wrong lock is no measure.
func (row *Row) isMeasure() bool {
	c, _ := workload.ContenderNamed(row.Who)
	return c.IsPeer() && row.Overlaps == 0 && row.OpsPerSecond > 0
}

// row is nil when there is none.
func (r *Report) row(workload, who string) *Row { return r.Of(workload)[who] }

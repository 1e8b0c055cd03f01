package report

import (
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/test/bench/workload"
)

// Part says how some workloads of a report were measured that were measured by
// themselves, later than the others, by -save with -run.
type Part struct {
	Workloads []string          `json:"workloads"`
	Machine   string            `json:"machine"`
	Date      string            `json:"date"`
	Command   string            `json:"command"`
	Short     bool              `json:"short,omitempty"`
	Note      string            `json:"note,omitempty"`
	Rounds    int               `json:"rounds"`
	Window    string            `json:"window"`
	Versions  map[string]string `json:"versions"`
}

// with is an earlier report in which what a later one measured stands in place
// of what it had of the same workloads.
func with(r *Report, later *Report) *Report {
	measured := measuredIn(later)
	m := *r
	m.Rows, m.Bulk, m.Parts = nil, nil, nil
	for _, w := range workload.AllWorkloads() {
		m.Rows = append(m.Rows, rowsOf(w.Name, r.Rows, later.Rows)...)
	}
	for _, w := range workload.AllBulk() {
		m.Bulk = append(m.Bulk, rowsOf(w.Name, r.Bulk, later.Bulk)...)
	}
	for _, p := range r.Parts {
		p.Workloads = slices.DeleteFunc(slices.Clone(p.Workloads), func(w string) bool { return slices.Contains(measured, w) })
		if len(p.Workloads) > 0 {
			m.Parts = append(m.Parts, p)
		}
	}
	if len(measured) > 0 {
		m.Parts = append(m.Parts, Part{
			Workloads: measured, Machine: later.Machine, Date: later.Date, Command: later.Command, Short: later.Short,
			Note: later.Note, Rounds: later.Rounds, Window: later.Window, Versions: later.Versions,
		})
	}
	m.Settings = maps.Clone(r.Settings)
	if m.Settings == nil {
		m.Settings = map[string]string{}
	}
	maps.Copy(m.Settings, later.Settings)
	return &m
}

// rowsOf are those of a workload, the later ones if there are any.
func rowsOf[T interface{ Of() string }](workload string, earlier, later []T) []T {
	other := func(row T) bool { return row.Of() != workload }
	if rows := slices.DeleteFunc(slices.Clone(later), other); len(rows) > 0 {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(earlier), other)
}

// workloads are those of which it has rows, in order.
func measuredIn(r *Report) []string {
	var all []string
	for _, w := range workload.AllWorkloads() {
		if len(rowsOf(w.Name, nil, r.Rows)) > 0 {
			all = append(all, w.Name)
		}
	}
	for _, w := range workload.AllBulk() {
		if len(rowsOf(w.Name, nil, r.Bulk)) > 0 {
			all = append(all, w.Name)
		}
	}
	return all
}

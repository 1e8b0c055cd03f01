package bench

import (
	"maps"
	"slices"
	"time"
)

// Report is what a run found. It is what -o json prints and what
// docs/benchmarks/latest.json keeps.
type Report struct {
	Machine  string            `json:"machine"`
	Date     string            `json:"date"`
	Command  string            `json:"command"`
	Rounds   int               `json:"rounds"`
	Window   string            `json:"window"`
	Versions map[string]string `json:"versions"`
	Settings map[string]string `json:"settings"` // of each contender
	Rows     []Row             `json:"rows"`
}

// Row is one contender in one workload: medians over the rounds, except for Max,
// which is the longest of all, and for Overlaps and Failed, which are sums.
type Row struct {
	Workload     string  `json:"workload"`
	Who          string  `json:"who"`
	OpsPerSecond float64 `json:"ops_per_s"`
	P50          float64 `json:"p50_us"`
	P99          float64 `json:"p99_us"`
	Max          float64 `json:"max_us"`
	Jain         float64 `json:"jain"`
	Commands     float64 `json:"commands_per_op"`
	InScripts    float64 `json:"script_commands_per_op"`
	Overlaps     int64   `json:"overlaps"`
	Failed       int64   `json:"failed,omitempty"` // calls that returned another error than the end of ctx
	Failure      string  `json:"failure,omitempty"`
}

func newReport(s settings, command string) Report {
	r := Report{
		Machine:  machine(),
		Date:     time.Now().UTC().Format(time.DateOnly),
		Command:  command,
		Rounds:   s.rounds,
		Window:   s.timing.Window.String(),
		Versions: versions(),
		Settings: map[string]string{},
	}
	for _, c := range contenders() {
		r.Settings[c.who] = c.settings
	}
	return r
}

// merge makes one row of the rows of all rounds.
func merge(rounds []Row) Row {
	row := rounds[0]
	median := func(of func(Row) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	row.OpsPerSecond = round(median(func(r Row) float64 { return r.OpsPerSecond }), 1)
	row.P50 = round(median(func(r Row) float64 { return r.P50 }), 0)
	row.P99 = round(median(func(r Row) float64 { return r.P99 }), 0)
	row.Jain = round(median(func(r Row) float64 { return r.Jain }), 3)
	row.Commands = round(median(func(r Row) float64 { return r.Commands }), 2)
	row.InScripts = round(median(func(r Row) float64 { return r.InScripts }), 2)
	for _, r := range rounds[1:] {
		row.Max = max(row.Max, r.Max)
		row.Overlaps += r.Overlaps
		row.Failed += r.Failed
		if row.Failure == "" {
			row.Failure = r.Failure
		}
	}
	return row
}

// ratio is holdfast beside the best of the others in one workload.
type ratio struct {
	workload string
	ops      float64 // locks per second, holdfast through the best
	opsBest  string
	p99      float64 // 99th percentile of the waits, holdfast through the best
	p99Best  string
}

// ratios compares in every workload where a peer got a lock at all.
func (r *Report) ratios() []ratio {
	var all []ratio
	for _, w := range workloads {
		rows := r.of(w.name)
		own, ok := rows["holdfast"]
		if !ok {
			continue
		}
		q := ratio{workload: w.name}
		var ops, p99 float64
		for _, who := range slices.Sorted(maps.Keys(rows)) {
			row := rows[who]
			if who == "holdfast" || row.OpsPerSecond == 0 {
				continue
			}
			if row.OpsPerSecond > ops {
				ops, q.opsBest = row.OpsPerSecond, who
			}
			if p99 == 0 || row.P99 < p99 {
				p99, q.p99Best = row.P99, who
			}
		}
		if ops > 0 && p99 > 0 {
			q.ops, q.p99 = own.OpsPerSecond/ops, own.P99/p99
			all = append(all, q)
		}
	}
	return all
}

// of returns the rows of one workload by who they are of.
func (r *Report) of(workload string) map[string]Row {
	rows := map[string]Row{}
	for _, row := range r.Rows {
		if row.Workload == workload {
			rows[row.Who] = row
		}
	}
	return rows
}

// Package audit is 'holdfast audit': it checks in the journal that no two leases of a name
// overlap.
package audit

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/journal"
	"github.com/spf13/cobra"
)

// Exit codes of audit other than 0.
const (
	exitRefuted  = 1
	exitUnproven = 2
)

// Command is 'holdfast audit'.
func Command(a *cli.App) *cobra.Command {
	var since time.Duration
	cmd := a.Command("audit [PREFIX]", "Check the journal for two holders at the same time", cli.MaybeOne, func(ctx context.Context, args []string) error {
		return connect.On(ctx, a, func(client *connect.Session) error {
			return audit(ctx, a, client.Store, strings.Join(args, ""), since)
		})
	})
	cmd.Flags().DurationVar(&since, "since", 0, "nothing older than this, such as 24h")
	a.OutputFlag(cmd)
	return cmd
}

func audit(ctx context.Context, a *cli.App, store driver.Store, prefix string, since time.Duration) error {
	var from time.Time
	if since > 0 {
		from = time.Now().Add(-since)
	}
	report, err := journal.Audit(journal.Read(ctx, store, journal.Query{KeyPrefix: a.Prefix}), from, prefix)
	if err != nil {
		return err
	}
	err = a.Print(newReportJSON(report), func(s console.Screen) { printReport(s, report) })
	switch {
	case err != nil:
		return err
	case report.Verdict == journal.Refuted:
		return cli.Exit(exitRefuted, nil)
	case report.Verdict == journal.Unproven:
		return cli.Exit(exitUnproven, nil)
	}
	return nil
}

func printReport(s console.Screen, r *journal.Report) {
	switch r.Verdict {
	case journal.Proved:
		s.Printf("%s: no two leases of a name overlap, and each token is higher than the one before\n", s.Paint(console.Good, "proved"))
	case journal.Refuted:
		s.Printf("%s:\n", s.Paint(console.Bad, "refuted"))
	default:
		s.Printf("%s, but not refuted:\n", s.Paint(console.Bold, "not proved"))
	}
	for _, f := range r.Findings {
		s.Printf("  %s\n", view.Text(f.String()))
	}
	for _, why := range r.Reasons {
		s.Printf("  %s\n", view.Text(why))
	}
	s.Printf("%s of %s, in %s", console.Several(r.Leases, "lease"), console.Several(r.Names, "name"), entries(r.Entries))
	if r.Entries > 0 {
		s.Printf(" from %s to %s", console.Stamp(r.From), console.Stamp(r.To))
	}
	s.Printf("\n")
	if r.Shared > 0 {
		s.Printf("not checked: %s of semaphores and reader-writer locks, which may overlap\n", console.Several(r.Shared, "lease"))
	}
	if r.Leases > 0 {
		s.Printf("uncertainty: %s (clock errors can hide a shorter overlap)\n", console.Duration(r.Uncertainty))
	}
}

func entries(n int) string { return console.Count(n, "entry", "entries") }

type reportJSON struct {
	Verdict       string             `json:"verdict"`
	Reasons       []string           `json:"reasons"`
	Entries       int                `json:"entries"`
	Unreadable    int                `json:"unreadable"`
	Names         int                `json:"names"`
	Leases        int                `json:"leases"`
	Shared        int                `json:"shared"`
	From          *time.Time         `json:"from"`
	To            *time.Time         `json:"to"`
	UncertaintyMS float64            `json:"uncertainty_ms"`
	Findings      []auditFindingJSON `json:"findings"`
	Missing       int64              `json:"missing"`
	Holes         []holeJSON         `json:"holes"`
	Unended       []unendedJSON      `json:"unended"`
}

type auditFindingJSON struct {
	Rule  string      `json:"rule"`
	Text  string      `json:"text"`
	Name  string      `json:"name"`
	First view.Entry  `json:"first"`
	End   *view.Entry `json:"end,omitempty"`
	Then  view.Entry  `json:"then"`
	ByMS  float64     `json:"by_ms"`
}

type holeJSON struct {
	Owner    string    `json:"owner"`
	N        int64     `json:"n"`
	After    time.Time `json:"after"`
	Before   time.Time `json:"before"`
	Reported bool      `json:"reported"`
}

type unendedJSON struct {
	Lease view.Entry `json:"lease"`
	Next  view.Entry `json:"next"`
	GapMS float64    `json:"gap_ms"`
}

func newReportJSON(r *journal.Report) reportJSON {
	out := reportJSON{
		Verdict: string(r.Verdict), Reasons: append([]string{}, r.Reasons...), Entries: r.Entries, Unreadable: r.Unreadable, Names: r.Names, Leases: r.Leases,
		Shared: r.Shared, UncertaintyMS: console.Milliseconds(r.Uncertainty), Missing: r.Missing,
		Findings: []auditFindingJSON{}, Holes: []holeJSON{}, Unended: []unendedJSON{},
	}
	if r.Entries > 0 {
		out.From, out.To = new(r.From.UTC()), new(r.To.UTC())
	}
	for _, f := range r.Findings {
		j := auditFindingJSON{Rule: string(f.Rule), Text: f.String(), Name: f.Name, First: view.NewEntry(f.First), Then: view.NewEntry(f.Then), ByMS: console.Milliseconds(f.By)}
		if f.End != nil {
			j.End = new(view.NewEntry(*f.End))
		}
		out.Findings = append(out.Findings, j)
	}
	for _, h := range r.Holes {
		out.Holes = append(out.Holes, holeJSON{h.Owner, h.N, h.After.UTC(), h.Before.UTC(), h.Reported})
	}
	for _, u := range r.Unended {
		out.Unended = append(out.Unended, unendedJSON{view.NewEntry(u.Lease), view.NewEntry(u.Next), console.Milliseconds(u.Gap)})
	}
	return out
}

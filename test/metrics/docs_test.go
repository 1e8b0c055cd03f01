package metrics_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const page = "docs/metrics.md"

// documented is one row of the tables in docs/metrics.md.
type documented struct {
	kind   string
	labels []string
	alerts []string
}

func list(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ' ' })
}

func rows(t *testing.T) map[string]documented {
	t.Helper()
	all := make(map[string]documented)
	for line := range strings.Lines(text(t, page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		if _, twice := all[name]; twice {
			t.Errorf("%s: %s has two rows", page, name)
		}
		if strings.TrimSpace(cells[4]) == "" {
			t.Errorf("%s: %s has no meaning", page, name)
		}
		all[name] = documented{strings.TrimSpace(cells[2]), list(cells[3]), list(cells[5])}
	}
	return all
}

// Every metric is documented with its type and labels, and no other is.
func TestEveryMetricIsDocumented(t *testing.T) {
	rows, registered := rows(t), registered(t)
	for name, m := range registered {
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s has no row for %s: who sees it does not know what it means", page, name)
			continue
		}
		slices.Sort(m.labels)
		if got := slices.Sorted(slices.Values(row.labels)); row.kind != m.kind || !slices.Equal(got, m.labels) {
			t.Errorf("%s says of %s: %s with labels %v; it is a %s with labels %v", page, name, row.kind, got, m.kind, m.labels)
		}
	}
	for name := range rows {
		if _, ok := registered[name]; !ok {
			t.Errorf("%s has a row for %s, which no collector gives", page, name)
		}
	}
}

// The alerts that a row names are those whose rules look at the metric, and no other.
func TestRowsNameTheirAlerts(t *testing.T) {
	want := make(map[string][]string)
	for _, rule := range rules(t) {
		for name := range metricsIn(t, rule.Expr) {
			want[name] = append(want[name], rule.Alert)
		}
	}
	for name, row := range rows(t) {
		slices.Sort(row.alerts)
		slices.Sort(want[name])
		if !slices.Equal(row.alerts, want[name]) {
			t.Errorf("%s says that %s has the alerts %v; the rules that look at it are %v", page, name, row.alerts, want[name])
		}
	}
}

// The values of labels that the page explains are those that there are: of causes and
// sources all, of others none that is not.
func TestDocumentedValues(t *testing.T) {
	said := text(t, page)
	for name, m := range registered(t) {
		for _, label := range []string{"source", "cause", "state", "kind", "method"} {
			for _, value := range m.values[label] {
				if !strings.Contains(said, "`"+value+"`") {
					t.Errorf("%s does not say what %s{%s=%q} is", page, name, label, value)
				}
			}
		}
	}
}

var fence = regexp.MustCompile("(?s)```go\n(.*?)```")

// The code that the page shows is in examples that run.
func TestPageShowsTestedCode(t *testing.T) {
	examples := unindented(text(t, "contrib/prometheus/example_test.go") + text(t, "test/metrics/example_test.go"))
	blocks := fence.FindAllStringSubmatch(text(t, page), -1)
	if len(blocks) == 0 {
		t.Errorf("%s shows no code", page)
	}
	for _, block := range blocks {
		for _, part := range strings.Split(block[1], "\n\n") {
			if part = unindented(part); !strings.Contains(examples, part) {
				t.Errorf("%s shows code that is in no example:\n%s", page, part)
			}
		}
	}
}

// unindented keeps the whole lines of a text without their indentation and comments.
func unindented(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// Every rule has its chapter in docs/runbooks.md, which says with which command to look, and
// every chapter its rule. The most serious come first.
func TestEveryAlertHasARunbook(t *testing.T) {
	_, page, _ := strings.Cut(text(t, "docs/runbooks.md"), "\n## ")
	chapters, severities := make(map[string]string), []string{}
	for _, chapter := range strings.Split(page, "\n## ") {
		alert, said, _ := strings.Cut(chapter, "\n")
		chapters[alert] = said
		severities = append(severities, strings.Join(regexp.MustCompile(`(?m)^Severity: (\w+)\.$`).FindStringSubmatch(said), " "))
	}
	order := []string{"critical", "warning", "info"}
	if !slices.IsSortedFunc(severities, func(a, b string) int {
		rank := func(s string) int {
			return slices.IndexFunc(order, func(o string) bool { return strings.HasSuffix(s, o) })
		}
		return rank(a) - rank(b)
	}) {
		t.Errorf("the severities of docs/runbooks.md are %q: want the most serious first", severities)
	}
	for _, rule := range rules(t) {
		checkRunbook(t, rule, chapters)
		delete(chapters, rule.Alert)
	}
	for _, left := range slices.Sorted(maps.Keys(chapters)) {
		t.Errorf("docs/runbooks.md: %s belongs to no rule", left)
	}
}

func checkRunbook(t *testing.T, rule rule, chapters map[string]string) {
	t.Helper()
	said := chapters[rule.Alert]
	for _, part := range []string{"\nSeverity: " + rule.Labels["severity"] + ".\n", "\n**Meaning.**", "\n**Check.**", "\n**Do.**"} {
		if !strings.Contains(said, part) {
			t.Errorf("docs/runbooks.md: %s lacks %q", rule.Alert, part)
		}
	}
	if !strings.Contains(said, "`holdfast ") {
		t.Errorf("docs/runbooks.md: %s names no command of holdfast: where does one look?", rule.Alert)
	}
	want := "https://github.com/holdfast-go/holdfast/blob/main/docs/runbooks.md#" + strings.ToLower(rule.Alert)
	if got := rule.Annotations["runbook_url"]; got != want {
		t.Errorf("%s: runbook_url: got %s, want %s", rule.Alert, got, want)
	}
}

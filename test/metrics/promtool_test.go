package metrics_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// promtool runs the real one, on a text for its stdin or on files.
func promtool(t *testing.T, stdin []byte, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: scripts/need promtool installs it", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

func path(name string) string { return filepath.Join("../..", filepath.FromSlash(name)) }

// The rules are valid, and each fires and is silent as its tests say.
func TestRulesByPromtool(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs promtool")
	}
	promtool(t, nil, "check", "rules", path(alertsFile))
	promtool(t, nil, "test", "rules", path(testsFile))
}

// Every expression of the dashboard is valid for the real parser.
func TestDashboardByPromtool(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs promtool")
	}
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	i := 0
	for where, expr := range expressions(t) {
		i++
		b.WriteString("      - record: dashboard:expression:" + strconv.Itoa(i) + " # " + where + "\n        expr: " + strconv.Quote(expr) + "\n")
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, nil, "check", "rules", file)
}

// lint has promtool look at what a scrape gives: names, types, units, help.
func lint(t *testing.T, gatherer prometheus.Gatherer) {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var scraped bytes.Buffer
	encoder := expfmt.NewEncoder(&scraped, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, scraped.Bytes(), "check", "metrics")
}

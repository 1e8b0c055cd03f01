package metrics_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

const dashboardFile = "deploy/grafana/holdfast.json"

// dashboard is as much of Grafana's format as is looked at.
type dashboard struct {
	Panels []struct {
		Type, Title string
		ID          int
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat, RefID string }
	}
	Templating struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
		}
	}
}

// asPrometheus puts values in for Grafana's variables.
var asPrometheus = strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$class", ".*")

var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// expressions are all that the dashboard asks Prometheus, by where.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(text(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	ids := make(map[int]bool)
	for _, panel := range d.Panels {
		if ids[panel.ID] || panel.GridPos.W == 0 || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("panel %q: its id is not its own, or its place is not in the grid", panel.Title)
		}
		ids[panel.ID] = true
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			all[panel.Title+" "+target.RefID] = asPrometheus.Replace(target.Expr)
		}
	}
	for _, variable := range d.Templating.List {
		if variable.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(variable.Query, &query); err != nil {
			t.Fatal(err)
		}
		parts := labelValues.FindStringSubmatch(asPrometheus.Replace(query.Query))
		if parts == nil {
			t.Fatalf("variable %s: %q is no label_values(metric, label)", variable.Name, query.Query)
		}
		all["variable "+variable.Name] = "count by (" + parts[2] + ") (" + parts[1] + ")"
	}
	if len(all) < 10 {
		t.Fatalf("%s has only %d expressions", dashboardFile, len(all))
	}
	return all
}

// Every expression of the dashboard looks at metrics, labels and values that there are.
func TestDashboardFitsTheRegistry(t *testing.T) {
	registered := registered(t)
	shown := make(map[string]bool)
	for where, expr := range expressions(t) {
		if strings.Contains(expr, "$") {
			t.Errorf("%s: %s has a variable that the dashboard does not define", where, expr)
			continue
		}
		fits(t, registered, where, expr)
		for name := range metricsIn(t, expr) {
			shown[name] = true
		}
	}
	for name := range registered {
		if !shown[name] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

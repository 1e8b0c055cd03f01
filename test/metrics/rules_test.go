package metrics_test

import (
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	alertsFile = "deploy/prometheus/alerts.yml"
	testsFile  = "deploy/prometheus/alerts_test.yml"
)

// rule is one alert of alerts.yml.
type rule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(text(t, alertsFile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal(alertsFile + " has no rules")
	}
	return all
}

// Every rule looks at metrics and labels that there are, and says how bad it is.
func TestRulesFitTheRegistry(t *testing.T) {
	registered := registered(t)
	for _, rule := range rules(t) {
		fits(t, registered, rule.Alert, rule.Expr)
		if s := rule.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) {
			t.Errorf("%s: severity %q: want critical, warning or info", rule.Alert, s)
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s has no summary or no description", rule.Alert)
		}
	}
}

// Every rule has a test in which it fires, and one in which it is silent.
func TestEveryRuleIsTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Checks []struct {
				Name   string `yaml:"alertname"`
				Alerts []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(text(t, testsFile)), &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := make(map[string]bool), make(map[string]bool)
	for _, test := range file.Tests {
		for _, check := range test.Checks {
			if len(check.Alerts) > 0 {
				fires[check.Name] = true
			} else {
				silent[check.Name] = true
			}
		}
	}
	for _, rule := range rules(t) {
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: fires in a test: %v, is silent in one: %v; want both", rule.Alert, fires[rule.Alert], silent[rule.Alert])
		}
	}
}

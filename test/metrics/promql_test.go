package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// everywhere are labels that Prometheus adds.
var everywhere = []string{"job", "instance"}

// closed are the labels of whose values the registry shows all.
var closed = []string{"source", "cause", "state", "kind", "method", "code", "problem"}

func parse(t *testing.T, expr string) parser.Expr {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return parsed
}

// lookup finds a metric by the name of one of its series.
func lookup(registered map[string]metric, series string) (name string, labels []string, m metric) {
	if m, ok := registered[series]; ok && m.kind != "histogram" {
		return series, slices.Concat(m.labels, everywhere), m
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name, ok := strings.CutSuffix(series, suffix)
		if m := registered[name]; ok && m.kind == "histogram" {
			labels := slices.Concat(m.labels, everywhere)
			if suffix == "_bucket" {
				labels = append(labels, "le")
			}
			return name, labels, m
		}
	}
	return "", nil, metric{}
}

// metricsIn are the metrics that an expression looks at.
func metricsIn(t *testing.T, expr string) map[string]bool {
	t.Helper()
	registered, names := registered(t), make(map[string]bool)
	parser.Inspect(parse(t, expr), func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			name, _, _ := lookup(registered, s.Name)
			names[name] = true
		}
		return nil
	})
	return names
}

// fits fails the test unless an expression looks at metrics that there are, as what they
// are, by labels and values that they have.
func fits(t *testing.T, registered map[string]metric, where, expr string) {
	t.Helper()
	root := parse(t, expr)
	parser.Inspect(root, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			selects(t, registered, where, n, path)
		case *parser.AggregateExpr:
			groups(t, registered, where, n.Expr, n.Grouping)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				groups(t, registered, where, n.LHS, n.VectorMatching.MatchingLabels)
				groups(t, registered, where, n.RHS, n.VectorMatching.MatchingLabels)
			}
		case *parser.Call:
			if n.Func.Name == "histogram_quantile" && !strings.Contains(n.Args[1].String(), "le") {
				t.Errorf("%s: %s loses le", where, n)
			}
		}
		return nil
	})
}

// selects checks one selector, and what is made of it.
func selects(t *testing.T, registered map[string]metric, where string, s *parser.VectorSelector, path []parser.Node) {
	t.Helper()
	name, has, m := lookup(registered, s.Name)
	if name == "" {
		t.Errorf("%s looks at %s, which no collector gives", where, s.Name)
		return
	}
	for _, matcher := range s.LabelMatchers {
		if matcher.Name == model.MetricNameLabel {
			continue
		}
		if !slices.Contains(has, matcher.Name) {
			t.Errorf("%s: %s has no label %s", where, name, matcher.Name)
		}
		if !slices.Contains(closed, matcher.Name) {
			continue
		}
		for _, value := range strings.Split(matcher.Value, "|") {
			if !slices.Contains(m.values[matcher.Name], value) {
				t.Errorf("%s: %s is never %s=%q; it may be %q", where, name, matcher.Name, value, m.values[matcher.Name])
			}
		}
	}
	rated := false
	for _, above := range path {
		if call, ok := above.(*parser.Call); ok {
			rated = rated || slices.Contains([]string{"rate", "increase", "irate"}, call.Func.Name)
		}
	}
	counts := slices.ContainsFunc(path, func(above parser.Node) bool {
		a, ok := above.(*parser.AggregateExpr)
		return ok && a.Op == parser.COUNT
	})
	if gauge := m.kind == "gauge"; gauge && rated {
		t.Errorf("%s: %s is a gauge: it has no rate", where, name)
	} else if !gauge && !rated && !counts && !compared(path) {
		t.Errorf("%s: %s is a %s: without rate or increase it says how old the process is", where, name, m.kind)
	}
}

// compared reports whether a counter is asked only whether there ever was one.
func compared(path []parser.Node) bool {
	return slices.ContainsFunc(path, func(above parser.Node) bool {
		b, ok := above.(*parser.BinaryExpr)
		return ok && b.Op == parser.GTR && b.RHS.String() == "0"
	})
}

// groups fails the test if what is below lacks one of the labels.
func groups(t *testing.T, registered map[string]metric, where string, below parser.Expr, by []string) {
	t.Helper()
	parser.Inspect(below, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			_, has, _ := lookup(registered, s.Name)
			for _, label := range by {
				if !slices.Contains(has, label) {
					t.Errorf("%s: %s has no label %s to go by", where, s.Name, label)
				}
			}
		}
		return nil
	})
}

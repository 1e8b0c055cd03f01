package layout

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// A new event must not be forgotten by what shows events to people. A function that does nothing
// with an event names it all the same, in a case that says why.
func TestEveryEventIsHandled(t *testing.T) {
	events := regexp.MustCompile(`(?m)^func \((\w+)\) event\(\)`).FindAllStringSubmatch(read(t, "event.go"), -1)
	if len(events) == 0 {
		t.Fatal("event.go has no type with a method event")
	}
	for _, h := range []struct{ file, function, why string }{
		{"contrib/prometheus/metrics.go", "OnEvent", "give it a metric there and in vectors.go, and a row in docs/metrics.md"},
		{"contrib/eventlog/eventlog.go", "describe", "give it a level, a message and its fields"},
		{"journal/writer.go", "OnEvent", "write an entry, or say in the case why the event changes no lease"},
		{"cmd/holdfast/internal/take/narrator.go", "Event", "--verbose says it in a sentence, or the case says why not"},
	} {
		cases := eventCases(t, h.file, h.function)
		for _, e := range events {
			if !slices.Contains(cases, e[1]) {
				t.Errorf("%s: %s has no case for holdfast.%s: %s", h.file, h.function, e[1], h.why)
			}
		}
	}
}

// eventCases are the types of package holdfast that the cases of a function name.
func eventCases(t *testing.T, file, function string) []string {
	t.Helper()
	var names []string
	_, f := parse(t, file)
	for _, decl := range f.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Name.Name == function {
			ast.Inspect(d, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, e := range c.List {
						if selector, ok := e.(*ast.SelectorExpr); ok {
							names = append(names, selector.Sel.Name)
						}
					}
				}
				return true
			})
		}
	}
	return names
}

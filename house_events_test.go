//go:build !race

package holdfast_test

import (
	"go/ast"
	"path"
	"slices"
	"testing"
)

// handled are the functions that decide for each event what happens to it. One that does
// nothing with an event names it all the same, in a case that says why.
var handled = []struct{ file, function, why string }{
	{"contrib/prometheus/metrics.go", "OnEvent", "an event that is not counted is seen on no graph: give it a metric there and in vectors.go and a row in docs/metrics.md"},
	{"contrib/eventlog/eventlog.go", "describe", "the log has every event: give it a level, a message and its fields"},
	{"journal/writer.go", "OnEvent", "the journal has what an audit needs: write an entry, or say in the case why the event changes no lease"},
	{"cmd/holdfast/internal/take/narrator.go", "Event", "--verbose reports what happens to a lock: say it in a sentence, or say in the case why not"},
}

// A new event must not be forgotten by what shows events to people.
func TestEveryEventIsHandled(t *testing.T) {
	events := eventTypes(t)
	if len(events) == 0 {
		t.Fatal("event.go has no type with a method event: the law looks for them there")
	}
	for _, h := range handled {
		cases := caseTypes(t, h.file, h.function)
		for _, e := range events {
			if !slices.Contains(cases, e) {
				t.Errorf("%s: %s has no case for holdfast.%s: %s", h.file, h.function, e, h.why)
			}
		}
	}
}

// eventTypes are the types of the root that are events.
func eventTypes(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, s := range sources(t) {
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && s.dir() == "." && f.Recv != nil && f.Name.Name == "event" {
				names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

// caseTypes are the types of package holdfast that the type switches of a function name.
func caseTypes(t *testing.T, file, function string) []string {
	t.Helper()
	var names []string
	for _, s := range sources(t) {
		if s.path != path.Clean(file) {
			continue
		}
		for _, decl := range s.ast.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == function {
				ast.Inspect(f, func(n ast.Node) bool {
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
	}
	if names == nil {
		t.Errorf("%s has no function %s with a switch over events", file, function)
	}
	return names
}

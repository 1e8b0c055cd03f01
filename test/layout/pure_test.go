package layout

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// The packages that decide about locks do no I/O, read no clock, start nothing and wait for
// nothing: what they do depends on their input alone, so it can be searched and simulated.
func TestDecisionsArePure(t *testing.T) {
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"}
	imports := []string{"context", "sync", "log", "log/slog", "os", "net", "runtime", "math/rand/v2"}
	pure := map[string]int{"internal/machine": 0, "internal/lifetime": 0, "internal/ballot": 0} // files
	for _, name := range files(t, ".go") {
		if _, ok := pure[path.Dir(name)]; !ok || strings.HasSuffix(name, "_test.go") {
			continue
		}
		pure[path.Dir(name)]++
		set, f := parse(t, name)
		wrong := func(n ast.Node, what string) {
			t.Errorf("%s: %s in a package that decides about locks; it belongs into the engine, see Host in internal/machine", set.Position(n.Pos()), what)
		}
		for _, i := range f.Imports {
			if p := strings.Trim(i.Path.Value, `"`); slices.Contains(imports, p) {
				wrong(i, "an import of "+p)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				wrong(n, "a goroutine")
			case *ast.SelectStmt:
				wrong(n, "a select")
			case *ast.ChanType:
				wrong(n, "a channel")
			case *ast.SendStmt:
				wrong(n, "a send on a channel")
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					wrong(n, "time."+n.Sel.Name)
				}
			}
			return true
		})
	}
	for dir, n := range pure {
		if n == 0 {
			t.Errorf("%s has no files", dir)
		}
	}
}

package holdfast_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The packages that decide about locks do no I/O, read no clock, start nothing and wait for
// nothing: what they do depends on their input alone.
func TestDecisionsArePure(t *testing.T) {
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"}
	imports := []string{"context", "sync", "log", "log/slog", "os", "net", "runtime", "math/rand/v2"}
	for _, pattern := range []string{"internal/machine/*.go", "internal/ballot/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal("no files of ", pattern, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			wrong := func(n ast.Node, what string) {
				t.Errorf("%s: %s in a package that decides about locks; it belongs into the engine, see Host in internal/machine",
					files.Position(n.Pos()), what)
			}
			for _, i := range f.Imports {
				if path := strings.Trim(i.Path.Value, `"`); slices.Contains(imports, path) {
					wrong(i, "an import of "+path)
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
	}
}

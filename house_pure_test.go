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

// pure are the files of the root that decide about locks. What they may not use stands in
// TestDecisionsArePure.
var pure = []string{
	"process.go", "local_name.go", "ask.go", "turn.go", "tenure.go", "renew.go", "release.go", "cleanup.go", "request.go",
	"hold.go", "waiter.go", "group.go", "kinds.go", "term.go", "smaller.go", "check.go", "norenew.go", "replicas.go", "seen.go", "subscriber.go", "fault.go",
	"poll.go",
}

// The files that decide about locks do no I/O, read no clock, start nothing and wait for
// nothing: what they do depends on their input alone. They do not know the engine either, nor
// what is public.
func TestDecisionsArePure(t *testing.T) {
	engine := []string{"core", "Client", "Lease", "node", "keeper", "watch", "pending"}
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"}
	public := exportedBy(t, func(name string) bool { return !slices.Contains(pure, name) })
	for _, name := range pure {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[*ast.Ident]bool{} // and methods
		wrong := func(n ast.Node, what string) {
			t.Errorf("%s: %s in a file that decides about locks; it belongs into the engine, see host in process.go",
				filepath.Base(files.Position(n.Pos()).String()), what)
		}
		for _, i := range f.Imports {
			switch path := strings.Trim(i.Path.Value, `"`); path {
			case "context", "sync", "log", "log/slog", "os", "net", "runtime", "math/rand/v2":
				wrong(i, "an import of "+path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if x, ok := n.Key.(*ast.Ident); ok {
					fields[x] = true
				}
			case *ast.Ident:
				if public[n.Name] && !fields[n] {
					wrong(n, n.Name+", which is public,")
				}
			case *ast.GoStmt:
				wrong(n, "a goroutine")
			case *ast.SelectStmt:
				wrong(n, "a select")
			case *ast.ChanType:
				wrong(n, "a channel")
			case *ast.SendStmt:
				wrong(n, "a send on a channel")
			case *ast.SelectorExpr:
				fields[n.Sel] = true
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
					wrong(n, "time."+n.Sel.Name)
				}
			case *ast.StarExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(engine, x.Name) {
					wrong(n, "a "+x.Name)
				}
			}
			return true
		})
	}
}

// exportedBy are the public names that such files of the root declare.
func exportedBy(t *testing.T, file func(name string) bool) map[string]bool {
	names := map[string]bool{}
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, "_test.go") || !file(name) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = s.Name.IsExported()
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = n.IsExported()
						}
					}
				}
			}
		}
	}
	return names
}

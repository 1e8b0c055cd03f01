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
	"hold.go", "waiter.go", "group.go", "shared.go", "smaller.go", "check.go", "norenew.go", "dedicated.go", "replicas.go", "seen.go", "subscriber.go",
	"quorum_nodes.go", "quorum_ballot.go", "quorum_renew.go", "quorum_yield.go",
}

// The files that decide about locks do no I/O, read no clock, start nothing and wait for
// nothing: what they do depends on their input alone. They do not know the engine either.
func TestDecisionsArePure(t *testing.T) {
	engine := []string{"core", "Client", "Lease", "server", "keeper", "watch", "pending"}
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"}
	for _, name := range pure {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
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
			case *ast.StarExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(engine, x.Name) {
					wrong(n, "a "+x.Name)
				}
			}
			return true
		})
	}
}

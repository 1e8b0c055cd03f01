package guide_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type function struct {
	file, place, name string // the place is file:line, the name Mutex.Lock or DecodeAnswer
	lines             int
	ran               bool
	decl              *ast.FuncDecl
}

// functions returns all functions of the library.
func functions(t *testing.T) (all []*function) {
	t.Helper()
	set := token.NewFileSet()
	for _, pattern := range []string{"*.go", "internal/*/*.go"} {
		paths, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			parsed, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if d, ok := d.(*ast.FuncDecl); ok {
					first, file := set.Position(d.Pos()).Line, path[len("../../"):]
					f := &function{file: file, place: fmt.Sprint(file, ":", first), name: d.Name.Name, lines: set.Position(d.End()).Line - first + 1, decl: d}
					if d.Recv != nil {
						f.name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + f.name
					}
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// inOrder appends the functions that ran, each followed by those that it calls. first has the names
// to begin with. It knows no types: a call of a method counts for all methods of that name, except
// those of other types than the receiver. Functions that are used as values follow at the end, and
// then the rest.
func inOrder(ordered, library []*function, first []string) []*function {
	var later []string
	var visit func(name string)
	walk := func(caller *function) func(ast.Node) bool {
		receiver, is := "", ""
		if r := caller.decl.Recv; r != nil && len(r.List[0].Names) > 0 {
			receiver, is = r.List[0].Names[0].Name, strings.TrimSuffix(caller.name, caller.decl.Name.Name)
		}
		var walk func(node ast.Node) bool
		walk = func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				later = append(later, node.Sel.Name)
			case *ast.CallExpr:
				for _, arg := range node.Args { // they are called before
					ast.Inspect(arg, walk)
				}
				switch f := node.Fun.(type) {
				case *ast.Ident:
					visit(f.Name)
				case *ast.SelectorExpr:
					ast.Inspect(f.X, walk)
					if x, ok := f.X.(*ast.Ident); ok && x.Name == receiver && slices.ContainsFunc(library, func(g *function) bool { return g.name == is+f.Sel.Name }) {
						visit(is + f.Sel.Name)
					} else {
						visit(f.Sel.Name)
					}
				default:
					ast.Inspect(f, walk)
				}
				return false
			}
			return true
		}
		return walk
	}
	seen := map[*function]bool{}
	visit = func(name string) {
		for _, f := range library {
			if f.ran && (f.name == name || f.decl.Name.Name == name) && !seen[f] {
				if seen[f] = true; !slices.Contains(ordered, f) {
					ordered = append(ordered, f)
				}
				ast.Inspect(f.decl.Body, walk(f))
			}
		}
	}
	for _, name := range first {
		visit(name)
	}
	for len(later) > 0 {
		name := later[0]
		later = later[1:]
		visit(name)
	}
	for _, f := range library {
		visit(f.name)
	}
	return ordered
}

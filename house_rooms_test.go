//go:build !race

package holdfast_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// How large a package may be, and how far its files may use each other in a circle. The
// lab may have more: it describes scenarios.
const (
	widestCircle, widestLabCircle = 5, 10
	largestRoom, largestLabRoom   = 2500, 3500 // lines of code: without comments and blanks

	// The machine is one thing, whose files are its phases.
	machineDir                    = "internal/machine"
	widestMachine, largestMachine = 10, 3000
)

// room is a package without its tests, as it is built on Linux.
type room struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
}

func (r *room) file(p token.Pos) string { return path.Base(r.fset.Position(p).Filename) }

func (r *room) lab() bool { return strings.HasPrefix(r.dir, labDir) }

// rooms are all packages, by directory.
func rooms(t *testing.T) map[string]*room {
	t.Helper()
	linux := build.Default
	linux.GOOS = "linux"
	all := map[string]*room{}
	walk(t, func(name string) {
		dir, base := path.Split(name)
		dir = path.Clean(dir)
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return
		}
		if match, err := linux.MatchFile(dir, base); err != nil || !match {
			return
		}
		r := all[dir]
		if r == nil {
			r = &room{dir: dir, fset: token.NewFileSet()}
			all[dir] = r
		}
		file, err := parser.ParseFile(r.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		r.files = append(r.files, file)
	})
	return all
}

func TestCircles(t *testing.T) {
	for dir, r := range rooms(t) {
		most := widestCircle
		if r.lab() {
			most = widestLabCircle
		}
		if dir == machineDir {
			most = widestMachine
		}
		if circle := largestCircle(r.uses()); len(circle) > most {
			t.Errorf("%s has %d files that all use each other (%s), more than %d: a reader of one has to read all; "+
				"let files form layers, or make a package of what can be understood alone",
				dir, len(circle), strings.Join(circle, " "), most)
		}
	}
}

func TestSizeOfPackages(t *testing.T) {
	for dir, r := range rooms(t) {
		most := largestRoom
		if r.lab() {
			most = largestLabRoom
		}
		if dir == machineDir {
			most = largestMachine
		}
		lines := 0
		for _, f := range r.files {
			lines += linesOfCode(t, r.fset.Position(f.Pos()).Filename)
		}
		if lines > most {
			t.Errorf("%s has %d lines of code, more than %d: a package has one job; find the second one and give it a name",
				dir, lines, most)
		}
	}
}

func TestMethodsStandTogether(t *testing.T) {
	for dir, r := range rooms(t) {
		if dir == "." {
			continue // its files are what one can do with a Client and with a Lease
		}
		for _, name := range r.scattered() {
			t.Errorf("%s: %s has methods in a file that is not the type's, nor named by its comment: "+
				"a type is read as a whole; bring them together, or split the type", dir, name)
		}
	}
}

// uses is, for each file, the files whose declarations, methods and fields it uses. Other
// packages are empty to the type checker: what comes out of them has no type, which hides
// only what is reached through them.
func (r *room) uses() map[string]map[string]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := config.Check(r.dir, r.fset, r.files, info)
	uses := map[string]map[string]bool{}
	for _, f := range r.files {
		uses[r.file(f.Pos())] = map[string]bool{}
	}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !o.Pos().IsValid() || !ofPackage(o, pkg) {
			continue
		}
		if from, to := r.file(id.Pos()), r.file(o.Pos()); from != to {
			uses[from][to] = true
		}
	}
	return uses
}

// ofPackage reports whether o is declared at package level, or is a field or a method.
func ofPackage(o types.Object, pkg *types.Package) bool {
	v, isVar := o.(*types.Var)
	return o.Parent() == nil || o.Parent() == pkg.Scope() || isVar && v.IsField()
}

// nothing imports packages without a declaration in them.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	name := path[strings.LastIndex(path, "/")+1:]
	pkg := types.NewPackage(path, name)
	pkg.MarkComplete()
	return pkg, nil
}

// largestCircle is the largest set of files in which each file reaches all others.
func largestCircle(uses map[string]map[string]bool) []string {
	reached := map[string]map[string]bool{}
	for file := range uses {
		reached[file] = map[string]bool{}
		for todo := []string{file}; len(todo) > 0; todo = todo[1:] {
			for next := range uses[todo[0]] {
				if !reached[file][next] {
					reached[file][next] = true
					todo = append(todo, next)
				}
			}
		}
	}
	var largest []string
	for file, others := range reached {
		circle := []string{file}
		for other := range others {
			if other != file && reached[other][file] {
				circle = append(circle, other)
			}
		}
		if slices.Sort(circle); len(circle) > len(largest) || len(circle) == len(largest) && slices.Compare(circle, largest) < 0 {
			largest = circle
		}
	}
	return largest
}

// linesOfCode are the lines with a token on them.
func linesOfCode(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines, last := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := fset.Position(pos).Line
		for line := range strings.SplitSeq(lit, "\n") {
			if first > last && (strings.TrimSpace(line) != "" || lit == "") {
				lines, last = lines+1, first
			}
			first++
		}
	}
}

// scattered names the types with a method in a file that is neither the type's own nor one
// that the comment of the type names.
func (r *room) scattered() []string {
	home, named := map[string]string{}, map[string]string{}
	for _, f := range r.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					home[s.Name.Name] = r.file(s.Pos())
					named[s.Name.Name] = g.Doc.Text() + s.Doc.Text()
				}
			}
		}
	}
	elsewhere := map[string]map[string]bool{}
	for _, f := range r.files {
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil {
				continue
			}
			name, file := receiver(m), r.file(m.Pos())
			if file != home[name] {
				if elsewhere[name] == nil {
					elsewhere[name] = map[string]bool{}
				}
				elsewhere[name][file] = true
			}
		}
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(elsewhere)) {
		files := slices.Collect(maps.Keys(elsewhere[name]))
		if slices.ContainsFunc(files, func(f string) bool { return !strings.Contains(named[name], f) }) {
			wrong = append(wrong, name)
		}
	}
	return wrong
}

// receiver is the name of the type that a method is of.
func receiver(m *ast.FuncDecl) string {
	of := m.Recv.List[0].Type
	for {
		switch e := of.(type) {
		case *ast.StarExpr:
			of = e.X
		case *ast.IndexExpr:
			of = e.X
		case *ast.IndexListExpr:
			of = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

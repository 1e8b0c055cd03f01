//go:build !race

package holdfast_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// fewestExamples is how many examples the page of a package must show: they
// are what a reader tries first. A quorum's stand in the root.
var fewestExamples = map[string]int{
	"rueidisstore":      2,
	"goredisstore":      2,
	"embedded":          2,
	"journal":           1,
	"server":            1,
	"fence":             1,
	"driver/drivertest": 1,
}

// TestExamplesAreShown asks Go's own reader of documentation which examples a
// page shows: an example whose name fits nothing is run but never shown.
func TestExamplesAreShown(t *testing.T) {
	shown := map[string]int{}
	for dir, paths := range packageFiles(t) {
		fset := token.NewFileSet()
		var files, tests []*ast.File
		for _, name := range paths {
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
			if strings.HasSuffix(name, "_test.go") {
				tests = append(tests, file)
			}
		}
		p, err := doc.NewFromFiles(fset, files, path.Join(modulePath, dir))
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		names := shownExamples(p)
		shown[dir] = len(names)
		for _, e := range doc.Examples(tests...) {
			if !slices.Contains(names, e.Name) {
				t.Errorf("%s: Go's tools show Example%s nowhere: name it after an exported name of the package, or ExampleType_Method, with _ and a lower-case suffix where there are several", dir, e.Name)
			}
		}
	}
	for dir, fewest := range fewestExamples {
		if shown[dir] < fewest {
			t.Errorf("the page of %s shows %d examples, fewer than %d: a reader tries an example before reading a sentence", dir, shown[dir], fewest)
		}
	}
}

// packageFiles are the Go files of each package that users import.
func packageFiles(t *testing.T) map[string][]string {
	t.Helper()
	dirs := map[string][]string{}
	for _, s := range sources(t) {
		if isPublic(s.dir()) {
			dirs[s.dir()] = append(dirs[s.dir()], s.path)
		}
	}
	return dirs
}

// shownExamples are the names of the examples that stand on a package's page.
func shownExamples(p *doc.Package) []string {
	all := p.Examples
	addFuncs := func(funcs []*doc.Func) {
		for _, f := range funcs {
			all = append(all, f.Examples...)
		}
	}
	addFuncs(p.Funcs)
	for _, typ := range p.Types {
		all = append(all, typ.Examples...)
		addFuncs(typ.Funcs)
		addFuncs(typ.Methods)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
}

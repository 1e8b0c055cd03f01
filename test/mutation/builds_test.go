package mutation

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A mutant that does not build proves nothing: each one of the root module has the types that Go wants.
func TestMutantsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it checks the types of some hundred mutants")
	}
	const module = "github.com/holdfast-go/holdfast"
	root, err := rootDir()
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}} {{join .GoFiles \" \"}}", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, sources := map[string]string{}, map[string][]string{} // of each package, the file with its types, and its Go files
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 2 {
			exports[f[0]], sources[f[0]] = f[1], f[2:]
		}
	}
	files := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(files, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })}
	checked := 0
	for _, m := range tables {
		name := path.Join(module, path.Dir(m.file))
		if path.Ext(m.file) != ".go" || exports[name] == "" {
			continue
		}
		dir := t.TempDir()
		if _, err := m.overlay(root, dir); err != nil {
			continue // TestTablesFit says so
		}
		if _, err := conf.Check(name, files, parseMutant(t, files, sources[name], filepath.Join(root, path.Dir(m.file)), filepath.Join(dir, path.Base(m.file))), nil); err != nil {
			t.Errorf("%s: %v", m.guard, err)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("%d mutants were checked; want most of them", checked)
	}
}

// parseMutant reads the files of a package, with the mutant for one of them.
func parseMutant(t *testing.T, files *token.FileSet, names []string, dir, mutant string) (parsed []*ast.File) {
	t.Helper()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if name == filepath.Base(mutant) {
			file = mutant
		}
		f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	return parsed
}

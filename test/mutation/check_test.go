package mutation

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// checker finds rows that the code has left behind, without running a test: one that fits nowhere, whose
// mutation would not build, whose test is not there.
type checker struct {
	root     string
	packages map[string][]string // by directory: the import path, then the Go files
	tests    map[string]string   // by directory: the text of all its tests
	files    *token.FileSet
	types    types.Config
}

// newChecker has Go build what the packages import that the rows change.
func newChecker(root string, rows []mutation) (*checker, error) {
	dirs := map[string]bool{}
	for _, m := range rows {
		dir, _, isGo := strings.Cut(m.in, " ")
		if _, err := os.Stat(filepath.Join(root, dir)); isGo && err == nil { // else its rows are reported
			dirs["./"+dir] = true
		}
	}
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\n{{.Export}}\n{{.Dir}}\n{{join .GoFiles \" \"}}"}, //nolint:noctx // it ends by itself
		slices.Sorted(maps.Keys(dirs))...)...)
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	c := &checker{root: root, packages: map[string][]string{}, tests: map[string]string{}, files: token.NewFileSet()}
	exports := map[string]string{}
	for p := range slices.Chunk(strings.Split(strings.TrimSpace(string(out)), "\n"), 4) {
		exports[p[0]], c.packages[p[2]] = p[1], append(p[:1:1], strings.Fields(p[3])...)
	}
	c.types.Importer = importer.ForCompiler(c.files, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
	return c, nil
}

func (c *checker) check(m mutation) error {
	changed, err := m.change(c.root)
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.Trim(m.name, "()"), "|") {
		if !strings.Contains(c.testsIn(m.packageDir()), "\nfunc "+name+"(") {
			return fmt.Errorf("no %s in %s", name, m.packageDir())
		}
	}
	for file, text := range changed {
		if path.Ext(file) != ".lua" {
			return c.builds(path.Dir(file), changed)
		}
		if _, err := parse.Parse(strings.NewReader(text), file); err != nil {
			return fmt.Errorf("its mutation is no Lua: %w", err)
		}
	}
	return nil
}

// builds checks the types of a package with some of its files changed.
func (c *checker) builds(dir string, changed map[string]string) error {
	p := c.packages[filepath.Join(c.root, dir)]
	var parsed []*ast.File
	for _, name := range p[1:] {
		var text any // else the file itself
		if t, ok := changed[path.Join(dir, name)]; ok {
			text = t
		}
		f, err := parser.ParseFile(c.files, filepath.Join(c.root, dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("its mutation is no Go: %w", err)
		}
		parsed = append(parsed, f)
	}
	if _, err := c.types.Check(p[0], c.files, parsed, nil); err != nil {
		return fmt.Errorf("its mutation does not build: %w", err)
	}
	return nil
}

func (c *checker) testsIn(dir string) string {
	if c.tests[dir] == "" {
		var all bytes.Buffer
		files, _ := filepath.Glob(filepath.Join(c.root, dir, "*_test.go"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			all.Write(text)
		}
		c.tests[dir] = all.String()
	}
	return c.tests[dir]
}

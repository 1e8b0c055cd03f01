package mutation

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestTablesFit finds what a change of the code has left behind in the tables: a
// text that is not there once, a mutant that is no Go, a test that is not there, a guard
// named twice.
func TestTablesFit(t *testing.T) {
	root, err := rootDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, named, tests := t.TempDir(), map[string]bool{}, map[string]string{}
	for _, m := range tables {
		if named[m.guard] {
			t.Errorf("%s: named twice", m.guard)
		}
		named[m.guard] = true
		if _, err := m.overlay(root, dir); err != nil {
			t.Errorf("%s: %v", m.guard, err)
		} else if path.Ext(m.file) == ".go" {
			if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, path.Base(m.file)), nil, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: the mutant does not parse: %v", m.guard, err)
			}
		}
		if tests[m.packageDir()] == "" {
			tests[m.packageDir()] = sources(t, filepath.Join(root, m.packageDir()))
		}
		for _, name := range strings.Split(strings.Trim(m.name, "()"), "|") {
			if !strings.Contains(tests[m.packageDir()], "func "+name+"(") {
				t.Errorf("%s: no %s in %s", m.guard, name, m.packageDir())
			}
		}
	}
}

// sources are all tests of a package.
func sources(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

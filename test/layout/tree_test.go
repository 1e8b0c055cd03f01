package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tree is the checkout. Its path is absolute and goes through this package's directory, so that Go's
// cache of test results sees that a file outside of this module has changed.
var tree = func() fs.FS {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return os.DirFS(dir + "/../..")
}()

// files are the paths of the project's files whose names end in suffix.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && base[0] == '.' || slices.Contains([]string{"testdata", "node_modules", "build", "dist", "bin"}, base)):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, suffix):
			all = append(all, name)
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("no files *%s: %v", suffix, err)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t *testing.T, name string) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, read(t, name), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return set, f
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)

// tests are the tests below a directory.
func tests(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, name := range files(t, "_test.go") {
		if dir == "." || strings.HasPrefix(name, dir+"/") {
			for _, m := range testFunc.FindAllStringSubmatch(read(t, name), -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

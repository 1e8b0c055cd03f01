//go:build !race

package holdfast_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var codeSpan = regexp.MustCompile("`([^`]+)`")

// CONTRIBUTING.md begins with a table that says where things are. Whatever it names exists.
func TestEveryPlaceOfTheMapExists(t *testing.T) {
	places := 0
	for line := range strings.Lines(read(t, "CONTRIBUTING.md")) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
			places++
			if wrong := missingPlace(t, span[1]); wrong != "" {
				t.Errorf("CONTRIBUTING.md: %q: %s: a map that is wrong costs more than none", span[1], wrong)
			}
		}
	}
	if places == 0 {
		t.Error("CONTRIBUTING.md has no table of places: a newcomer finds nothing")
	}
	if !strings.Contains(read(t, ".github/workflows/ci.yml"), "run: .ci/run") {
		t.Error(".github/workflows/ci.yml does not run .ci/run: what CI checks must be what anybody can run")
	}
}

// SECURITY.md says in tables who can do what. Each row names the tests that show it.
func TestSecurityNamesItsTests(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		for _, decl := range s.ast.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
	}
	rows := 0
	for line := range strings.Lines(read(t, "SECURITY.md")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.Contains(line, "---") || strings.TrimSpace(cells[len(cells)-1]) == "test" {
			continue
		}
		rows++
		named := codeSpan.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 {
			t.Errorf("SECURITY.md: %q names no test: a claim about attackers that nobody tries is a hope", line)
		}
		for _, span := range named {
			if !tests[span[1]] {
				t.Errorf("SECURITY.md: there is no test %s", span[1])
			}
		}
	}
	if rows == 0 {
		t.Error("SECURITY.md has no table of actors")
	}
}

// missingPlace reports what does not exist of a file, a target of make, or a test that go
// test runs; empty: all of it does. A word alone is no place.
func missingPlace(t *testing.T, code string) string {
	t.Helper()
	words := strings.Fields(code)
	switch {
	case words[0] == "make":
		if !strings.Contains(read(t, "Makefile"), "\n"+words[1]+":") {
			return "the Makefile has no such target"
		}
	case strings.HasPrefix(code, "go test "):
		return missingTest(t, words[2:])
	case strings.ContainsAny(code, "./"):
		if _, err := os.Stat(filepath.FromSlash(code)); err != nil {
			return "there is no such file"
		}
	}
	return ""
}

// missingTest reports which package or test of a go test is not there.
func missingTest(t *testing.T, args []string) string {
	t.Helper()
	var run *regexp.Regexp
	flags := map[string]bool{} // that the packages must define
	for i, arg := range args {
		switch {
		case arg == "-run":
			run = regexp.MustCompile(args[i+1])
		case strings.HasPrefix(arg, "-") && arg != "-args":
			flags[strings.TrimPrefix(arg, "-")] = true
		}
	}
	for _, arg := range args {
		dir, ok := strings.CutPrefix(arg, "./")
		if !ok && arg != "." {
			continue
		}
		if !ok {
			dir = "."
		}
		tests, texts := testsOf(t, dir)
		if len(tests) == 0 {
			return arg + " has no tests"
		}
		if run != nil && !slices.ContainsFunc(tests, run.MatchString) {
			return arg + " has no test that matches " + run.String()
		}
		for flag := range flags {
			if flag != "run" && !strings.Contains(texts, `("`+flag+`", `) {
				return arg + " has no flag -" + flag
			}
		}
	}
	return ""
}

// testsOf are the names of a package's tests, and the text of their files.
func testsOf(t *testing.T, dir string) (names []string, texts string) {
	t.Helper()
	for _, s := range sources(t) {
		if s.dir() != dir || !s.test() {
			continue
		}
		texts += read(t, s.path)
		for _, decl := range s.ast.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names, texts
}

package pages_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdfast-go/holdfast"

// around is what the code on a page finds in its program.
const around = `package p
import (
	"context"
	"` + module + `"
	"` + module + `/driver"
	"` + module + `/journal"
	"` + module + `/server/dashboard"
)
func _(ctx context.Context, store driver.Store, client *holdfast.Client, address string, serve func(context.Context, *holdfast.Lease) error) {
%s
}`

var (
	code = regexp.MustCompile(`(<pre>)?<code( class="go")?>([^<{]+)</code>`)

	// notGo are the words in <code> that are neither a command nor an expression.
	notGo = []string{"host:pid", "journal"}
)

// Code on a page compiles with the module of this tree, and closes what it opens; a command
// on a page exists.
func TestCodeOnPages(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks the go command for the types of packages")
	}
	files := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(files, "gc", exported(t)), Error: func(error) {}}
	commands, blocks := 0, 0
	for where, shown := range shownCode(t) {
		for _, c := range shown {
			text := html.UnescapeString(c[3])
			if command, is := strings.CutPrefix(text, "holdfast "); is && c[2] == "" {
				verb, more, _ := strings.Cut(command, " ")
				sub, _, _ := strings.Cut(more, " ")
				const help = "../../../../cmd/holdfast/internal/help/text/"
				if !exists(help+verb+".txt") && !exists(help+verb+"-"+sub+".txt") {
					t.Errorf("%s shows the command %q, which does not exist", where, text)
				}
				commands++
				continue
			}
			if slices.Contains(notGo, text) {
				continue
			}
			if options, is := strings.CutPrefix(text, "Options."); is {
				text = "_ = dashboard.Options{}." + options
			} else if c[2] == "" {
				t.Errorf("%s shows %q: give code of Go the class go, so that it is compiled", where, text)
				continue
			}
			blocks++
			file, err := parser.ParseFile(files, where, fmt.Sprintf(around, text), 0)
			if err != nil {
				t.Errorf("%s shows\n%s\nwhich is not Go: %v", where, text, err)
				continue
			}
			info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
			conf.Error = func(err error) {
				if fault := new(types.Error); errors.As(err, fault) && !fault.Soft { // soft: a variable or an import that is not used
					t.Errorf("%s shows\n%s\nwhich does not compile: %s", where, text, fault.Msg)
				}
			}
			_, _ = conf.Check("p", files, []*ast.File{file}, info) // conf.Error says what is wrong
			for _, open := range unclosed(file, info) {
				t.Errorf("%s shows\n%s\nwhere nobody can close what %s returns", where, text, open)
			}
		}
	}
	if commands < 3 || blocks < 4 {
		t.Errorf("%d commands and %d pieces of Go were found on pages; want those that are there", commands, blocks)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// shownCode is what the templates show as code, by template.
func shownCode(t *testing.T) map[string][][]string {
	t.Helper()
	names, err := filepath.Glob("templates/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no templates: ", err)
	}
	shown := map[string][][]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown[name] = code.FindAllStringSubmatch(string(text), -1)
	}
	return shown
}

// exported opens what the compiler knows of a package.
func exported(t *testing.T) func(path string) (io.ReadCloser, error) {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", module+"/server/dashboard")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		at[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(cmp.Or(at[path], path)) }
}

// unclosed are the calls whose result has a method Close that the code does not call.
func unclosed(file *ast.File, info *types.Info) (calls []string) {
	closed := map[string]bool{}
	assigned := map[ast.Expr]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if name, is := n.Lhs[0].(*ast.Ident); is {
				assigned[n.Rhs[0]] = name.Name
			}
		case *ast.SelectorExpr:
			if name, is := n.X.(*ast.Ident); is && n.Sel.Name == "Close" {
				closed[name.Name] = true
			}
		}
		return true
	})
	for e, tv := range info.Types {
		call, is := e.(*ast.CallExpr)
		if !is || tv.Type == nil {
			continue
		}
		if method, _, _ := types.LookupFieldOrMethod(tv.Type, true, nil, "Close"); method != nil && !closed[assigned[e]] {
			calls = append(calls, types.ExprString(call.Fun))
		}
	}
	return calls
}

//go:build !race

package holdfast_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The laws of the house. Each test says in its failure why the law exists:
// whoever thinks that a law is wrong has its reason to argue with, and changes
// the law here first.

const (
	modulePath = "github.com/holdfast-go/holdfast"
	labDir     = "test"

	longestFile     = 500
	longestFunction = 70
)

// Source is one parsed Go file.
type Source struct {
	path string // slash-separated, from the root of the tree
	fset *token.FileSet
	ast  *ast.File
}

func (s Source) dir() string { return path.Dir(s.path) }
func (s Source) test() bool  { return strings.HasSuffix(s.path, "_test.go") }
func (s Source) lines() int  { return s.fset.File(s.ast.FileStart).LineCount() }
func (s Source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

// imports are the packages that the file names.
func (s Source) imports() []string {
	var paths []string
	for _, spec := range s.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value) // the parser saw to its quotes
		paths = append(paths, p)
	}
	return paths
}

// walk calls visit with every file of the tree that is the project's own.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && strings.HasPrefix(base, ".") || slices.Contains([]string{"vendor", "testdata", "node_modules", "dist", "build"}, base) {
				return filepath.SkipDir
			}
			return nil
		}
		visit(filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// parsed is what sources has found: most laws look at all files.
var parsed []Source

// sources parses every Go file of every module, once for all tests.
func sources(t *testing.T) []Source {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	var all []Source
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Source{name, fset, file})
	})
	parsed = all
	return all
}

// module is a go.mod, as far as the laws look at it.
type module struct {
	dir      string
	path     string
	goLine   string
	requires []string // path and version
	replaces []string
}

// modules reads the go.mod files of the tree by their directories.
func modules(t *testing.T) map[string]module {
	t.Helper()
	all := map[string]module{}
	walk(t, func(name string) {
		if path.Base(name) != "go.mod" {
			return
		}
		m := module{dir: path.Dir(name)}
		for _, line := range directives(t, name) {
			verb, rest, _ := strings.Cut(line, " ")
			switch verb {
			case "module":
				m.path = rest
			case "go":
				m.goLine = rest
			case "require":
				m.requires = append(m.requires, rest)
			case "replace":
				m.replaces = append(m.replaces, rest)
			}
		}
		all[m.dir] = m
	})
	return all
}

// directives are the lines of a go.mod or go.work, with the blocks unrolled:
// each begins with its verb.
func directives(t *testing.T, name string) []string {
	t.Helper()
	var lines []string
	block := ""
	for line := range strings.Lines(read(t, name)) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case line == "":
		case line == ")":
			block = ""
		case strings.HasSuffix(line, " ("):
			block = strings.TrimSuffix(line, "(")
		default:
			lines = append(lines, block+line)
		}
	}
	return lines
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRootRequiresNothing(t *testing.T) {
	for _, r := range modules(t)["."].requires {
		t.Errorf("go.mod requires %s: the root is the standard library and nothing else, so that a lock costs no dependency; what talks to Redis is a driver, a module of its own", r)
	}
}

func TestModulesArePublishable(t *testing.T) {
	all := modules(t)
	want := all["."].goLine
	for _, m := range all {
		if m.goLine != want {
			t.Errorf("%s/go.mod says go %s, the root go %s: one version, or the workspace builds what no user's build does", m.dir, m.goLine, want)
		}
		if m.dir == labDir {
			continue // never tagged
		}
		for _, r := range m.replaces {
			t.Errorf("%s/go.mod replaces %s: a user's build ignores replace lines, so it would be another program than ours; versioned replace lines stand in go.work", m.dir, r)
		}
		for _, r := range m.requires {
			if strings.HasPrefix(r, modulePath+"/"+labDir) {
				t.Errorf("%s/go.mod requires the lab: it is never tagged, so nobody could fetch this module; the test that needs it belongs into the lab", m.dir)
			}
			if strings.HasPrefix(r, "github.com/go-co-op/gocron/") && m.dir != "contrib/gocronlock" {
				t.Errorf("%s/go.mod requires gocron: only contrib/gocronlock may, or users of robfig/cron would get gocron, too", m.dir)
			}
		}
	}
}

func TestWorkspaceKnowsEveryModule(t *testing.T) {
	all := modules(t)
	lines := directives(t, "go.work")
	if want := "go " + all["."].goLine; !slices.Contains(lines, want) {
		t.Errorf("go.work does not say %q: it must agree with the modules", want)
	}
	for dir, m := range all {
		local := "./" + strings.TrimPrefix(dir, ".")
		use := "use " + local
		if dir == "." {
			use = "use ."
		}
		if !slices.Contains(lines, use) {
			t.Errorf("go.work lacks %q: `go test work` would silently leave the module out", use)
		}
		for _, other := range all {
			for _, r := range other.requires {
				if p, version, _ := strings.Cut(r, " "); p == m.path {
					if replace := "replace " + p + " " + version + " => " + local; !slices.Contains(lines, replace) {
						t.Errorf("go.work lacks %q, which %s/go.mod requires: a fresh clone would look for an unpublished version", replace, other.dir)
					}
				}
			}
		}
	}
}

// arrows are the packages of the house that a directory, and what lies under
// it, may import. The longest directory that fits counts. A name that ends in
// /... stands for the whole tree.
var arrows = map[string][]string{
	"driver":                {"driver"}, // its tests
	"driver/drivertest":     {"", "driver/...", "admin/..."},
	"internal/protocol":     {},
	"internal/script":       {"driver", "internal/protocol"},
	"internal/redisurl":     {"internal/redisurl/..."},
	"internal/clock":        {},
	"internal/keyspace":     {},
	"internal/call":         {"driver", "internal/call", "internal/clock", "internal/script", "internal/wire"},
	"internal/wire":         {"driver", "internal/keyspace", "internal/script", "internal/wire", "internal/protocol"}, // a line of a script says which right is missing
	"internal/details":      {"driver", "internal/call", "internal/clock", "internal/details", "internal/keyspace", "internal/script", "internal/wire"},
	"internal/election":     {"driver", "internal/keyspace", "internal/script", "internal/wire", "internal/protocol"},
	"internal/exported":     {"driver", "internal/call", "internal/clock", "internal/exported", "internal/keyspace", "internal/script", "internal/wire"},
	"internal/guarded":      {"driver", "internal/keyspace", "internal/script"},
	"internal/once":         {"driver", "internal/call", "internal/clock", "internal/keyspace", "internal/script", "internal/wire", "internal/protocol"},
	"internal/channels":     {"internal/channels"},
	"internal/refused":      {"driver", "internal/refused"},
	"internal/view":         {"", "admin/...", "driver", "internal/view", "journal"},
	"internal/ballot":       {"driver", "internal/ballot", "internal/clock", "internal/keyspace", "internal/majority", "internal/memory", "internal/protocol", "internal/script", "internal/tally", "internal/wire"},
	"internal/machine":      {"driver", "internal/ballot", "internal/clock", "internal/election", "internal/keyspace", "internal/machine", "internal/memory", "internal/protocol", "internal/script", "internal/tokens", "internal/wire"},
	"internal/majority":     {"internal/majority"},
	"internal/memory":       {"internal/clock", "internal/memory"},
	"internal/tokens":       {"internal/tokens", "internal/wire", "internal/protocol"}, // the most that one renewal may reserve
	"internal/subscription": {"driver", "internal/call", "internal/keyspace", "internal/subscription", "internal/wire"},
	"internal/tally":        {"driver", "internal/keyspace", "internal/majority", "internal/tally", "internal/wire"}, // driver: its tests
	"internal/engine":       {"driver", "internal/ballot", "internal/call", "internal/clock", "internal/details", "internal/election", "internal/keyspace", "internal/machine", "internal/majority", "internal/protocol", "internal/script", "internal/subscription", "internal/wire"},
	".":                     {"", "driver", "internal/engine", "internal/machine", "internal/ballot", "internal/clock", "internal/call", "internal/details", "internal/election", "internal/exported", "internal/guarded", "internal/keyspace", "internal/once", "internal/protocol", "internal/script", "internal/wire", "admin/..."}, // its tests inspect
	"admin":                 {"", "admin", "driver", "internal/call", "internal/clock", "internal/keyspace", "internal/majority", "internal/script", "internal/wire", "admin/diagnose", "internal/details", "internal/protocol"},
	"admin/diagnose":        {"", "admin/...", "internal/keyspace", "internal/wire", "internal/protocol"}, // no I/O: neither a driver nor a call
	"admin/doctor":          {"", "admin", "admin/doctor", "driver", "internal/call", "internal/keyspace", "internal/script", "internal/wire", "internal/protocol"},
	"quorum":                {"", "driver", "quorum", "internal/call", "internal/keyspace", "internal/majority", "internal/script", "internal/wire"},
	"fence":                 {"", "fence"},
	"journal":               {"", "driver", "internal/script", "journal"},
	"contrib":               {"", "admin/...", "quorum", "driver", "fence", "embedded", "journal", "contrib/..."},
	"rueidisstore":          {"", "driver/...", "internal/redisurl/...", "internal/channels", "internal/keyspace", "internal/refused", "rueidisstore"},
	"goredisstore":          {"", "driver/...", "internal/redisurl/...", "internal/channels", "internal/refused", "goredisstore"},
	"embedded":              {"", "admin/...", "quorum", "driver/...", "internal/refused", "fence", "journal", "embedded", "embedded/internal/..."},
	"server":                {"", "admin/...", "quorum", "driver", "internal/view", "server/...", "embedded", "journal", "internal/protocol"},
	"cmd/holdfast":          {"", "admin/...", "quorum", "driver", "internal/script", "rueidisstore", "embedded", "journal", "cmd/holdfast/...", "server/auth"}, // server/auth: its tests make tokens
	"test":                  {"", "admin/...", "quorum", "driver/...", "internal/...", "rueidisstore", "goredisstore", "embedded", "server/...", "fence", "journal", "contrib/..."},
}

func TestArrows(t *testing.T) {
	for _, s := range sources(t) {
		from := s.dir()
		for from != "." && arrows[from] == nil {
			from = path.Dir(from)
		}
		for _, p := range s.imports() {
			target, ours := cutModule(p)
			if ours && !allowed(arrows[from], target) {
				t.Errorf("%s imports %s: the arrows are driver <- internal/script <- internal/machine <- internal/engine <- root <- embedded, server <- cmd, lab; internal/clock and internal/keyspace need nothing of ours; a driver needs package driver alone; and only the root and the lab see an internal package, the drivers those that they share, server and cmd how a name is shown, and cmd the scripts, to print them: what our own command cannot do with the public face, no user can", s.path, p)
			}
		}
	}
}

// cutModule reports whether a package is of this repository, and where.
func cutModule(p string) (dir string, ours bool) {
	if p == modulePath {
		return "", true
	}
	return strings.CutPrefix(p, modulePath+"/")
}

func allowed(patterns []string, target string) bool {
	for _, pattern := range patterns {
		tree, whole := strings.CutSuffix(pattern, "/...")
		if target == tree || whole && strings.HasPrefix(target, tree+"/") {
			return true
		}
	}
	return false
}

func TestDriversAreOnlyDrivers(t *testing.T) {
	clients := map[string]string{
		"rueidisstore": "github.com/redis/rueidis",
		"goredisstore": "github.com/redis/go-redis/",
	}
	for _, s := range sources(t) {
		client, ok := clients[s.dir()]
		if !ok || s.test() {
			continue
		}
		for _, p := range s.imports() {
			ours := strings.TrimPrefix(p, modulePath)
			shared := ours == "/internal/redisurl" || ours == "/internal/channels" || ours == "/internal/keyspace" || ours == "/internal/refused"
			if standard(p) || ours == "/driver" || shared || strings.HasPrefix(p, client) {
				continue
			}
			t.Errorf("%s imports %s: a driver is its client library, package driver, and URLs, slots, channels and refusals that ours share, no more, so that anybody can write one", s.path, p)
		}
	}
}

// standard reports whether a package is of the standard library, whose paths
// begin with no host name.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test() {
			documented[s.dir()] = documented[s.dir()] || s.ast.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("no package comment in %s: it is the first thing a reader looks for, and says what the package is and is not", dir)
		}
	}
}

func TestExportedNamesAreContracts(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir() != "." && s.dir() != "driver" || s.test() {
			continue
		}
		for _, decl := range s.ast.Decls {
			for _, missing := range undocumented(decl) {
				t.Errorf("%s: %s has no comment: an exported name is a promise, and its comment is what was promised", s.at(decl), missing)
			}
		}
	}
}

// wellKnown are methods whose contract is written elsewhere.
var wellKnown = []string{"Error", "Unwrap", "Is", "As", "String", "GoString", "LogValue", "MarshalText", "UnmarshalText"}

// undocumented lists the exported names of a declaration that no comment is at.
func undocumented(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || !hiddenMethod(d)) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var missing []string
		for _, spec := range d.Specs {
			missing = append(missing, undocumentedSpec(d, spec)...)
		}
		return missing
	}
	return nil
}

// hiddenMethod reports whether a method needs no comment: its type is not
// exported, or everybody knows what it does.
func hiddenMethod(d *ast.FuncDecl) bool {
	receiver := d.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && !name.IsExported() || slices.Contains(wellKnown, d.Name.Name)
}

// undocumentedSpec takes the comment of a group for one of each constant and
// variable in it, but not of each type. Neighbors may share a comment that
// names them all.
func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
			return []string{s.Name.Name}
		}
	case *ast.ValueSpec:
		var missing []string
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil && !namedInGroup(d, name.Name) {
				missing = append(missing, name.Name)
			}
		}
		return missing
	}
	return nil
}

// namedInGroup reports whether the comment of another constant or variable of
// the group begins by naming this one, too.
func namedInGroup(d *ast.GenDecl, name string) bool {
	return slices.ContainsFunc(d.Specs, func(spec ast.Spec) bool {
		s, ok := spec.(*ast.ValueSpec)
		if !ok || s.Doc == nil {
			return false
		}
		words := strings.Fields(strings.ReplaceAll(s.Doc.Text(), ",", " "))
		return slices.Contains(words[:min(len(words), 8)], name)
	})
}

func TestSmallPieces(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.lines(); n > longestFile {
			t.Errorf("%s has %d lines, more than %d: one file, one idea; find the second one and give it a name", s.path, n, longestFile)
		}
		if s.test() {
			continue
		}
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if n > longestFunction {
				t.Errorf("%s: %s has %d lines, more than %d: what cannot be seen at once is not understood at once", s.at(f), f.Name.Name, n, longestFunction)
			}
		}
	}
}

// Code in README.md, in the guide and in docs/drivers.md is compiled: it stands in an Example, or in
// a file below test/guide.
func TestReadmeShowsTestedExamples(t *testing.T) {
	if len(goBlocks(read(t, "README.md"))) == 0 {
		t.Error("README.md shows no Go code: it is where everybody begins")
	}
	var compiled []string
	for _, s := range sources(t) {
		text := read(t, s.path)
		if s.test() && strings.Contains(text, "\nfunc Example") || strings.HasPrefix(s.path, labDir+"/guide/") {
			compiled = append(compiled, unindented(text))
		}
	}
	pages, err := filepath.Glob("docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md", "docs/drivers.md") {
		for _, block := range goBlocks(read(t, page)) {
			if !slices.ContainsFunc(compiled, func(c string) bool { return strings.Contains(c, unindented(block)) }) {
				t.Errorf("%s shows code that no test compiles, so it is wrong sooner or later. Put it, word for word, into an Example or into a file below %s/guide:\n%s", page, labDir, block)
			}
		}
	}
}

// goBlocks are the contents of the ```go fences of a Markdown text.
func goBlocks(text string) []string {
	var blocks []string
	for i, part := range strings.Split("\n"+text, "\n```go\n") {
		if i > 0 {
			block, _, _ := strings.Cut("\n"+part, "\n```")
			blocks = append(blocks, strings.TrimSpace(block))
		}
	}
	return blocks
}

// unindented drops the indentation of every line, and keeps the ends of lines
// so that a block is found as whole lines only.
func unindented(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

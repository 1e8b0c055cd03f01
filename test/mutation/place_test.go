package mutation

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// piece is a token of Go or Lua. Rows are compared with the code piece by piece. Spaces, line breaks, semicolons and comments
// are no pieces. The name of a local may differ from the row's, if it does so throughout the row. So a row
// still fits after the code was formatted or moved within its package, or a local was renamed.
type piece struct {
	text    string
	at, end int
	name    bool
	local   bool // a name that may differ from the row's
}

// The first group is what does not count, the second a name. The line of an include counts, though it is a comment.
var (
	goPieces = regexp.MustCompile(`(?s)(\s+|;|//[^\n]*|/\*.*?\*/)|([\pL_][\pL\pN_]*)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|` + "`[^`]*`" +
		`|\d[\w.]*|<<=|>>=|&\^=|\.\.\.|&&|\|\||<-|\+\+|--|<<|>>|&\^|[-+*/%&|^=!<>:]=|.`)
	luaPieces = regexp.MustCompile(`(?s)-- include [^\n]*|(\s+|;|--[^\n]*)|([A-Za-z_]\w*)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|` +
		`\{\{\w+\}\}|\d[\w.]*|\.\.\.|\.\.|[=~<>]=|.`)
	luaGlobals = regexp.MustCompile(`^(_|and|break|do|else|elseif|end|false|for|function|if|in|local|nil|not|or|repeat|return|then|true|until|while|` +
		`redis|KEYS|ARGV|string|table|math|cjson|tonumber|tostring|type|pairs|ipairs|next|unpack|error|pcall|select)$`)
)

// pieces splits code. The comma that formatting puts behind the last of a list does not count either.
func pieces(code string, of *regexp.Regexp) (all []piece) {
	for _, m := range of.FindAllStringSubmatchIndex(code, -1) {
		if m[2] >= 0 {
			continue
		}
		p := piece{text: code[m[0]:m[1]], at: m[0], end: m[1], name: m[4] >= 0}
		if n := len(all); n > 0 && all[n-1].text == "," && slices.Contains([]string{")", "]", "}"}, p.text) {
			all = all[:n-1]
		}
		all = append(all, p)
	}
	return all
}

// place is a declaration, or a whole script, where a row changes something.
type place struct {
	file, code string // its file, below the root, with all its text
	pieces     []piece
	syntax     *ast.File
	names      map[string]string // names that the row has, and those that stand in the code for them
}

// places are the script or the declarations that a row is about: "internal/machine Name.step, Process.Close".
func places(root, in string) (all []*place, err error) {
	if path.Ext(in) == ".lua" {
		code, err := os.ReadFile(filepath.Join(root, in))
		p := &place{file: in, code: string(code), pieces: pieces(string(code), luaPieces), names: map[string]string{}}
		for i, w := range p.pieces {
			p.pieces[i].local = w.name && !luaGlobals.MatchString(w.text) && (i == 0 || p.pieces[i-1].text != ".")
		}
		return []*place{p}, err
	}
	dir, names, _ := strings.Cut(in, " ")
	pkg, err := build.ImportDir(filepath.Join(root, dir), 0)
	if err != nil {
		return nil, err
	}
	for _, name := range pkg.GoFiles {
		code, _ := os.ReadFile(filepath.Join(pkg.Dir, name)) // else it does not parse
		f, err := parser.ParseFile(token.NewFileSet(), name, code, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, node := range declarations(f) {
			if slices.Contains(strings.Split(names, ", "), nameOf(node)) {
				all = append(all, newPlace(path.Join(dir, name), string(code), f, node))
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no such declaration")
	}
	return all, nil
}

func declarations(f *ast.File) (all []ast.Node) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				all = append(all, s)
			}
		} else {
			all = append(all, d)
		}
	}
	return all
}

// nameOf is "Name.step" for a method, and the first name of a declaration that has several.
func nameOf(declaration ast.Node) string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
		return of + "." + d.Name.Name
	case *ast.TypeSpec:
		return d.Name.Name
	case *ast.ValueSpec:
		return d.Names[0].Name
	}
	return ""
}

func newPlace(file, code string, syntax *ast.File, node ast.Node) *place {
	p := &place{file: file, code: code, syntax: syntax, names: map[string]string{}}
	locals := map[token.Pos]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name != "_" && id.Obj != nil && id.Obj.Decl != node {
			locals[id.Pos()] = node.Pos() <= id.Obj.Pos() && id.Obj.Pos() < node.End()
		}
		return true
	})
	from := int(node.Pos() - syntax.FileStart)
	for _, w := range pieces(code[from:node.End()-syntax.FileStart], goPieces) {
		w.at, w.end = from+w.at, from+w.end
		w.local = locals[syntax.FileStart+token.Pos(w.at)]
		p.pieces = append(p.pieces, w)
	}
	return p
}

// match returns names together with those that make pattern fit the code, or nil if nothing does.
func match(pattern, code []piece, names map[string]string) map[string]string {
	if len(pattern) > len(code) {
		return nil
	}
	names = maps.Clone(names)
	for i, p := range pattern {
		c := code[i]
		if !c.local || !p.name {
			if c.text != p.text {
				return nil
			}
			continue
		}
		for row, here := range names {
			if (row == p.text) != (here == c.text) {
				return nil
			}
		}
		names[p.text] = c.text
	}
	return names
}

// splice is what becomes of a part of a file.
type splice struct {
	*place
	at, end int
	names   map[string]string // those of the place, and those found here
	text    string
}

// find returns where an old text stands: once, or once with the names that the row has.
func find(old string, in []*place, language *regexp.Regexp) (splice, error) {
	pattern := pieces(old, language)
	if len(pattern) == 0 {
		return splice{}, errors.New("a text to replace is empty")
	}
	var found, same []splice // with any names, with the same names
	for _, p := range in {
		for i := range p.pieces {
			names := match(pattern, p.pieces[i:], p.names)
			if names == nil {
				continue
			}
			s := splice{place: p, at: p.pieces[i].at, end: p.pieces[i+len(pattern)-1].end, names: names}
			found = append(found, s)
			if !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(row string) bool { return names[row] != row }) {
				same = append(same, s)
			}
		}
	}
	if len(found) > 1 && len(same) == 1 {
		found = same
	}
	if len(found) != 1 {
		return splice{}, fmt.Errorf("%q stands there %d times; want it once", old, len(found))
	}
	found[0].place.names = found[0].names
	return found[0], nil
}

// renamed is a new text with the names that the code has.
func renamed(text string, names map[string]string, language *regexp.Regexp) string {
	var b strings.Builder
	last, before := 0, ""
	for _, p := range pieces(text, language) {
		if here, ok := names[p.text]; ok && before != "." {
			b.WriteString(text[last:p.at] + here)
			last = p.end
		}
		before = p.text
	}
	return b.String() + text[last:]
}

// change returns the files that it changes, as they are then.
func (m mutation) change(root string) (map[string]string, error) {
	language := goPieces
	if path.Ext(m.in) == ".lua" {
		language = luaPieces
	}
	all, err := places(root, m.in)
	if err != nil {
		return nil, err
	}
	if m.where != "" {
		if _, err := find(m.where, all, language); err != nil {
			return nil, err
		}
	}
	var splices []splice
	for edit := range slices.Chunk(m.edits, 2) {
		s, err := find(edit[0], all, language)
		if err != nil {
			return nil, err
		}
		s.text = edit[1]
		splices = append(splices, s)
	}
	for i, s := range splices { // now that all names are known
		splices[i].text = renamed(s.text, s.place.names, language)
	}
	for _, name := range m.imports {
		s := splice{place: all[0], text: "; import " + strconv.Quote(name)}
		if !slices.ContainsFunc(s.syntax.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(name) }) {
			s.at = int(s.syntax.Name.End() - s.syntax.FileStart)
			s.end = s.at
			splices = append(splices, s)
		}
	}
	slices.SortFunc(splices, func(a, b splice) int { return b.at - a.at }) // from the end, so that places stay
	changed := map[string]string{}
	for _, s := range splices {
		code, ok := changed[s.file]
		if !ok {
			code = s.code
		}
		changed[s.file] = code[:s.at] + s.text + code[s.end:]
	}
	return changed, nil
}

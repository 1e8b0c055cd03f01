//go:build !race

package holdfast_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The laws of language: how a text reads that a user may see. Users read
// Markdown, the doc comments of public packages, help, messages, pages and
// alerts. All comments of Go and Lua are read as well, except in the lab.

const (
	longestSentence = 25     // words, in a doc comment
	mostMarkdown    = 45_000 // words, in all Markdown together
)

// habit is a way of writing that makes a reader read twice.
type habit struct {
	pattern *regexp.Regexp
	instead string
}

func habits(table [][2]string) []habit {
	var all []habit
	for _, row := range table {
		all = append(all, habit{regexp.MustCompile("(?i)" + row[0]), row[1]})
	}
	return all
}

// Names on the wire are exempt as long as they stand in `code`.
var badHabits = habits([][2]string{
	{`(^|[.;:(|] |\b(to|of|by|for|from|with|than|as|beside|after|before|behind|among|that|but|all|those|anybody|everybody) )who [a-z]+`, "name the subject: a waiter, the holder, a client"},
	{`\bwhoever\b`, "name the subject: the holder, the client, you"},
	{`\bwhatever\b`, "name the thing"},
	{`\btells? (whether|that|who|what|which|how|if)\b`, `"reports whether", "shows", "says"`},
	{`\b(is|are|be|was|were|been|being|gets?) told\b`, "say who gets which message or error"},
	{`\banew\b`, `"again"`},
	{`\bbesides\b`, `"also"`},
	{`\bso many\b`, "give the number"},
	{`\bof which\b`, "two sentences"},
	{`\bbut for\b`, `"except", "without"`},
	{`\bbe it\b`, `"whether ... or"`},
	{`\bbecomes? of\b`, `"happens to"`},
	{`\bthe least lock\b`, `"a minimal lock"`},

	{`\bghosts?\b`, "a stale id"},
	{`\b(errands?|chores?)\b`, "a cleanup"},
	{`\bcrowds?\b`, "a batch, many waiters"},
	{`\bstrides?\b`, "a token block"},
	{`\bbadges?\b`, "process details"},
	{`\bpok(e|es|ed|ing)\b`, "notify"},
	{`\bbundl(e|es|ed)\b`, "a group"},
	{`\bgather(s|ed|ing)?\b`, "batch, collect"},
	{`\b(rests|rested|resting)\b`, "cool-down"},
	{`\b(stands?|stood|standing|gets?|got|waits?|waited|waiting|first|is|are|was|were) in(to)? line\b`, "queue"},
	{`\bsits? out\b`, `"does not vote"`},
	{`\b(hears?|heard)\b`, `"is notified", "learns"`},
})

// badInCode are private words that comments of code must not bring back.
var badInCode = habits([][2]string{
	{`\b(first in line|in the line of)\b`, "the head of the queue, the queue"},
	{`\b(is|lists|shows) who [a-z]+`, "name the subject: the holders, the waiters"},
	{`\b(undoing|goodbyes?|audiences?|farewells?)\b`, "a cleanup, a removal, the observers"},
	{`\b(?-i:[LQF]) (is|has|may|must|rests|lives|alone)\b`, "the lock key, the queue, the fence key"},
	{`\b(nobody|somebody) (here )?is behind\b`, "an id that the process has given up"},
	{`\b(sends?|sent) (all |the )?(callers|waiters) home\b`, "rejects the waiters"},
})

// badInMessages are bad in messages and help alone, where room is short.
var badInMessages = habits([][2]string{
	{`\b(nobody|somebody|anybody)\b`, "name the holder, the waiter, the client"},
	{`\bwho (waits|holds|locks|has|looks|is|may)\b`, "name the subject"},
	{`\b(in line|the line of)\b`, "queue"},
	{`\b(that is said|look at)\b`, `"the message says", "inspect"`},
})

// passage is a text that users read.
type passage struct {
	where   string // file and line
	text    string // without code, white space made one blank
	message bool
	code    bool // a comment that only readers of the code see
}

func TestWords(t *testing.T) {
	for _, r := range passages(t) {
		wrong := badHabits
		if r.message {
			wrong = slices.Concat(badHabits, badInMessages)
		} else if r.code {
			wrong = slices.Concat(badHabits, badInCode)
		}
		for _, h := range wrong {
			for _, at := range h.pattern.FindAllStringIndex(r.text, -1) {
				if isQuestion(r.text[at[1]:]) {
					continue
				}
				around := r.text[max(0, at[0]-40):min(len(r.text), at[1]+40)]
				t.Errorf("%s: %q in ...%s...: better %s. A reader whose mother tongue is another has to read it twice", r.where, r.text[at[0]:at[1]], around, h.instead)
			}
		}
	}
}

// isQuestion reports whether a sentence ends with a question mark, given its
// end and what follows: "Who holds it?" is plain.
func isQuestion(rest string) bool {
	end := strings.IndexAny(rest, ".?!;")
	return end >= 0 && rest[end] == '?'
}

func TestWordsInSentences(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || !isPublic(s.dir()) {
			continue
		}
		for _, r := range docComments(s) {
			for sentence := range sentences(r.text) {
				if n := len(strings.Fields(sentence)); n > longestSentence {
					t.Errorf("%s: a sentence of %d words, more than %d: one idea per sentence: %s", r.where, n, longestSentence, sentence)
				}
			}
		}
	}
}

func TestWordsOfMarkdown(t *testing.T) {
	words := 0
	walk(t, func(name string) {
		if path.Ext(name) == ".md" {
			words += len(strings.Fields(read(t, name)))
		}
	})
	if words > mostMarkdown {
		t.Errorf("all Markdown has %d words, more than %d: nobody finds a fact in that much text; say each fact in one place, and link to it", words, mostMarkdown)
	}
}

// helpDir has the help of the commands.
const helpDir = "cmd/holdfast/internal/help/text/"

// passages are the texts of the tree that users read.
func passages(t *testing.T) []passage {
	t.Helper()
	var all []passage
	walk(t, func(name string) {
		switch {
		case path.Ext(name) == ".md":
			all = append(all, paragraphs(name, withoutCode(read(t, name)))...)
		case strings.HasPrefix(name, "server/dashboard/") && path.Ext(name) == ".html":
			all = append(all, paragraphs(name, withoutTags(read(t, name)))...)
		case strings.HasPrefix(name, "server/dashboard/") && path.Ext(name) == ".js":
			all = append(all, quoted(name, read(t, name))...)
		case path.Ext(name) == ".lua" && !strings.Contains(name, "/testdata/"):
			all = append(all, luaComments(name, read(t, name))...)
		case strings.HasPrefix(name, helpDir):
			for _, p := range paragraphs(name, read(t, name)) {
				p.message = true
				all = append(all, p)
			}
		case strings.HasPrefix(name, "deploy/"), strings.HasPrefix(name, "packaging/") && path.Ext(name) == ".env",
			name == "server/openapi.json":
			all = append(all, paragraphs(name, read(t, name))...)
		}
	})
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		if !strings.HasPrefix(s.path, labDir) {
			for _, g := range s.ast.Comments {
				all = append(all, passage{where: s.at(g), text: prose(g), code: true})
			}
		}
		if strings.HasPrefix(s.path, "internal/") {
			continue
		}
		if isPublic(s.dir()) {
			all = append(all, docComments(s)...)
		}
		all = append(all, messages(s)...)
	}
	return all
}

// luaComments are the comments of a script: each line or run of lines, without what
// a script answers, which are words on the wire.
func luaComments(name, text string) []passage {
	var b strings.Builder
	for l := range strings.Lines(text) {
		before, comment, found := strings.Cut(strings.TrimSuffix(l, "\n"), "--")
		switch {
		case !found, strings.HasPrefix(comment, " include"):
		case strings.HasPrefix(comment, " answers"), strings.HasPrefix(comment, "   "): // words on the wire
		case strings.TrimSpace(before) != "":
			b.WriteString("- " + comment) // a passage of its own
		default:
			b.WriteString(comment)
		}
		b.WriteString("\n")
	}
	all := paragraphs(name, b.String())
	for i := range all {
		all[i].code = true
	}
	return all
}

// isPublic reports whether the package of a directory is one that users import.
func isPublic(dir string) bool {
	return dir != "cmd/holdfast" && !strings.Contains("/"+dir+"/", "/internal/")
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkTarget = regexp.MustCompile(`\]\([^)\s]*\)`)
	htmlCode   = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>|<code>.*?</code>|{{.*?}}|<[^>]*>|<!--.*?-->`)
	jsString   = regexp.MustCompile("'[^'\n]* [^'\n]*'|\"[^\"\n]* [^\"\n]*\"|`[^`]* [^`]*`")
)

// withoutCode is Markdown without code and the targets of links; lines keep their number.
func withoutCode(text string) string {
	text = fence.ReplaceAllStringFunc(text, onlyNewlines)
	return linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(text, "CODE"), "]")
}

func withoutTags(text string) string {
	return htmlCode.ReplaceAllStringFunc(text, func(tag string) string { return " " + onlyNewlines(tag) + " " })
}

func onlyNewlines(text string) string {
	return strings.Repeat("\n", strings.Count(text, "\n"))
}

// paragraphs splits a text where a line is empty, or begins a row of a list.
func paragraphs(name, text string) []passage {
	var all []passage
	line, begun := 1, 1
	var words []string
	flush := func() {
		if len(words) > 0 {
			all = append(all, passage{where: fmt.Sprintf("%s:%d", name, begun), text: strings.Join(words, " ")})
		}
		words = nil
	}
	for l := range strings.Lines(text) {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") {
			flush()
		}
		if len(words) == 0 {
			begun = line
		}
		words = append(words, strings.Fields(l)...)
		line++
	}
	flush()
	return all
}

// quoted are the strings of a script that have a blank in them.
func quoted(name, text string) []passage {
	var all []passage
	for _, at := range jsString.FindAllStringIndex(text, -1) {
		line := 1 + strings.Count(text[:at[0]], "\n")
		all = append(all, passage{where: fmt.Sprintf("%s:%d", name, line), text: oneLine(text[at[0]+1 : at[1]-1])})
	}
	return all
}

// messages are the string literals of a file: help, errors, log lines. Tags of
// structs are left out.
func messages(s Source) []passage {
	var all []passage
	tags := map[*ast.BasicLit]bool{} // and what else no user reads
	exempt := func(list ...ast.Expr) {
		for _, e := range list {
			if lit, ok := e.(*ast.BasicLit); ok {
				tags[lit] = true
			}
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
			}
		case *ast.CaseClause: // a word of an answer
			exempt(n.List...)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				exempt(n.X, n.Y)
			}
		case *ast.KeyValueExpr:
			exempt(n.Key)
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && !tags[n] && text != "" {
				all = append(all, passage{where: s.at(n), text: oneLine(inlineCode.ReplaceAllString(text, "CODE")), message: true})
			}
		}
		return true
	})
	return all
}

// docComments are the package comment and the comments of exported names.
func docComments(s Source) []passage {
	var all []passage
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				all = append(all, passage{where: s.at(g), text: prose(g)})
			}
		}
	}
	add(s.ast.Doc)
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || !hiddenMethod(d)) {
				add(d.Doc)
				if n := len(all) - 1; d.Doc != nil { // a name may be a word, such as Who
					all[n].text = "It" + strings.TrimPrefix(all[n].text, d.Name.Name)
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				add(specComments(d, spec)...)
			}
		}
	}
	return all
}

func specComments(d *ast.GenDecl, spec ast.Spec) []*ast.CommentGroup {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		groups := []*ast.CommentGroup{d.Doc, s.Doc, s.Comment}
		return append(groups, memberComments(s.Type)...)
	case *ast.ValueSpec:
		if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
			return []*ast.CommentGroup{d.Doc, s.Doc, s.Comment}
		}
	}
	return nil
}

// memberComments are those of exported fields and methods of a type.
func memberComments(e ast.Expr) []*ast.CommentGroup {
	var list *ast.FieldList
	switch x := e.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return nil
	}
	var groups []*ast.CommentGroup
	for _, f := range list.List {
		if slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			groups = append(groups, f.Doc, f.Comment)
		}
	}
	return groups
}

// prose is a comment without its code and headings: each paragraph and each
// row of a list ends like a sentence.
func prose(g *ast.CommentGroup) string {
	var b strings.Builder
	for l := range strings.Lines(g.Text()) {
		trimmed := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(trimmed, "- "):
			b.WriteString(". " + strings.TrimPrefix(trimmed, "- "))
		case strings.HasPrefix(l, "\t"), strings.HasPrefix(l, "# "): // code, a heading
			b.WriteString(". ")
		case trimmed == "":
			b.WriteString(". ")
		default:
			b.WriteString(trimmed)
		}
		b.WriteString(" ")
	}
	return oneLine(b.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var sentenceEnd = regexp.MustCompile(`[.:;?!]["')\]]? `)

// sentences yields the sentences of a text; a colon and a semicolon end one,
// too.
func sentences(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			at := sentenceEnd.FindStringIndex(text)
			if at == nil {
				yield(text)
				return
			}
			if !yield(text[:at[1]]) {
				return
			}
			text = text[at[1]:]
		}
	}
}

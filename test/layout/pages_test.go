package layout

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Code that README.md, the guide and docs/drivers.md show is compiled: it is, word for word, in the
// file of an Example, in one below test/guide, or in the driver that test/drivers builds.
func TestPagesShowCodeThatCompiles(t *testing.T) {
	const driver = "test/drivers/testdata/outside/"
	built, _ := fs.Glob(tree, driver+"*.go")
	var compiled []string
	for _, name := range append(files(t, ".go"), built...) {
		text := read(t, name)
		if strings.HasSuffix(name, "_test.go") && strings.Contains(text, "\nfunc Example") || strings.HasPrefix(name, "test/guide/") || strings.HasPrefix(name, driver) {
			compiled = append(compiled, unindented(text))
		}
	}
	block := regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	blocks := 0
	for _, page := range files(t, ".md") {
		if page != "README.md" && page != "docs/drivers.md" && !strings.HasPrefix(page, "docs/guide/") {
			continue
		}
		for _, m := range block.FindAllStringSubmatch(read(t, page), -1) {
			blocks++
			code := unindented(strings.TrimSpace(m[1]))
			if !slices.ContainsFunc(compiled, func(c string) bool { return strings.Contains(c, code) }) {
				t.Errorf("%s shows code that no test compiles; put it, word for word, into an Example or into a file below test/guide:\n%s", page, m[1])
			}
		}
	}
	if blocks == 0 {
		t.Error("the pages show no Go code")
	}
}

// unindented drops the indentation of every line, so that a block is found as whole lines.
func unindented(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w*$`)
	runFlag  = regexp.MustCompile(`-run (\S+)`)
)

// The table of CONTRIBUTING.md names files, targets of make and tests that exist.
func TestPlacesExist(t *testing.T) {
	makefile := "\n" + read(t, "Makefile")
	places := 0
	for line := range strings.Lines(read(t, "CONTRIBUTING.md")) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
			places++
			words := strings.Fields(span[1])
			switch {
			case words[0] == "make":
				if !strings.Contains(makefile, "\n"+words[1]+":") {
					t.Errorf("CONTRIBUTING.md: %s: the Makefile has no such target", span[1])
				}
			case words[0] == "go":
				for _, word := range words {
					if dir, ok := strings.CutPrefix(word, "./"); ok || word == "." {
						dir = strings.TrimSuffix(dir, "/...")
						pattern := "."
						if m := runFlag.FindStringSubmatch(span[1]); m != nil {
							pattern = m[1]
						}
						if word == "." {
							dir = word
						}
						if !slices.ContainsFunc(tests(t, dir), regexp.MustCompile(pattern).MatchString) {
							t.Errorf("CONTRIBUTING.md: %s: there is no such test in %s", span[1], word)
						}
					}
				}
			case strings.ContainsAny(span[1], "./"):
				if _, err := fs.Stat(tree, span[1]); err != nil {
					t.Errorf("CONTRIBUTING.md: %s: there is no such file", span[1])
				}
			}
		}
	}
	if places == 0 {
		t.Error("CONTRIBUTING.md has no table of places")
	}
}

// A page that names a test names one that exists, and SECURITY.md names one for each claim.
func TestPagesNameTests(t *testing.T) {
	all := tests(t, ".")
	for _, page := range files(t, ".md") {
		for line := range strings.Lines(read(t, page)) {
			named := 0
			for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
				if !testName.MatchString(span[1]) {
					continue
				}
				named++
				if !slices.Contains(all, span[1]) {
					t.Errorf("%s: there is no test %s", page, span[1])
				}
			}
			if row := strings.HasPrefix(line, "| ") && !strings.HasSuffix(line, "| test |\n"); page == "SECURITY.md" && row && named == 0 {
				t.Errorf("SECURITY.md: no test tries this: %s", line)
			}
		}
	}
}

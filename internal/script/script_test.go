package script

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each script has one variable, named as the script is: a file without one is dead, and
// two variables for one file are two names for one thing.
func TestEachScriptHasItsVariable(t *testing.T) {
	source, err := os.ReadFile("script.go")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) += load\("([\w/]+)"\)$`).FindAllStringSubmatch(string(source), -1) {
		got = append(got, m[2])
		if s := load(m[2]); variable(s.Name) != m[1] {
			t.Errorf("script %s is called %s in Go, want %s", s.Name, m[1], variable(s.Name))
		}
	}
	for _, f := range All() {
		want = append(want, f.Path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the variables are of %q, the folders have %q", got, want)
	}
}

// variable turns a script's name into that of its variable: shared_lock into SharedLock.
func variable(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// Each fragment is part of a script, or it is dead; and says first what it does.
func TestEachFragmentIsUsed(t *testing.T) {
	names, err := files.ReadDir("part")
	if err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	texts.WriteString(evalCheck)
	for _, f := range All() {
		texts.WriteString(f.Source)
	}
	for _, name := range names {
		text := expand(parts + strings.TrimSuffix(name.Name(), ".lua"))
		if name.Name() != "eval_check.lua" && !strings.Contains(texts.String(), text) {
			t.Errorf("no script includes part/%s", name.Name())
		}
		if begins := "-- " + strings.TrimSuffix(name.Name(), ".lua") + ": "; !strings.HasPrefix(text, begins) {
			t.Errorf("part/%s does not begin with %q and what it does", name.Name(), begins)
		}
	}
}

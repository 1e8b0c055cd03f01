package script

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/expanded")

// Whole scripts stand in testdata/expanded, to be read: a script that is put together
// from five files is seen nowhere else before it runs.
func TestExpandedScripts(t *testing.T) {
	const dir = "testdata/expanded"
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]bool{}
	for _, f := range All() {
		file := filepath.Join(dir, strings.ReplaceAll(f.Path, "/", "_")+".lua")
		known[file] = true
		if *update {
			if err := os.WriteFile(file, []byte(f.Whole()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != f.Whole() {
			t.Errorf("%s is not the script %s: run go test ./internal/script -update (%v)", file, f.Name, err)
		}
	}
	files, _ := filepath.Glob(dir + "/*")
	for _, file := range files {
		if !known[file] {
			t.Errorf("%s is no script: run go test ./internal/script -update", file)
		}
	}
}

var answer = regexp.MustCompile(`return (?:\{|\w+\()?'([a-z ]*[a-z])`)

// The first lines of each script say what it does, takes and answers.
func TestHeads(t *testing.T) {
	for _, f := range All() {
		if f.Does == "" || f.Keys == "" || f.Args == "" || f.Answers == "" {
			t.Errorf("the head of %s.lua lacks a part: it says %q, KEYS %q, ARGV %q, answers %q", f.Path, f.Does, f.Keys, f.Args, f.Answers)
		}
		for _, m := range answer.FindAllStringSubmatch(f.Source, -1) {
			if !strings.Contains(f.Answers, m[1]) {
				t.Errorf("%s.lua answers %q, which its head does not say: %s", f.Path, m[1], f.Answers)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for _, what := range []string{"shared_lock", "shared/lock", SharedLock.SHA, strings.ToUpper(SharedLock.SHA[:12])} {
		if found := Find(what); len(found) != 1 || found[0].Script != SharedLock {
			t.Errorf("%s finds %v, want shared_lock alone", what, found)
		}
	}
	for _, what := range []string{"", SharedLock.SHA[:3], "shared", "part/eval_check"} {
		if found := Find(what); len(found) > 0 {
			t.Errorf("%q finds %s", what, found[0].Name)
		}
	}
}

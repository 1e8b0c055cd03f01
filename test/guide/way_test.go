// Package guide_test has the code that the pages of docs/guide show, and runs it on real servers.
package guide_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the lists of docs/reading.md")

// The functions that an operation runs, in the order of their calls, and how long they are. It only
// prints them: go test -count 1 -v -run TestWayOfALock ./test/guide. With -args -write it writes the
// lists of docs/reading.md.
func TestWayOfALock(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the library with counters, which takes a while")
	}
	const module, page = "github.com/holdfast-go/holdfast", "../../docs/reading.md"
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	program := filepath.Join(dir, "lock")
	run("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+","+module+"/internal/...,"+module+"/test/guide/testdata/lock", "-o", program, "./testdata/lock")
	run(program, dir)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	library, listed := functions(t), map[*function]bool{}
	for _, way := range [][]string{ // a name, and where a caller, a timer or a push enters
		{"lock", "Mutex.Lock"},
		{"release", "Lease.Release"},
		{"push", "Mutex.Lock", "Lease.Release", "keeper.Pushed"},
		{"renew", "Name.tick", "Engine.run"},
		{"loss", "Name.tick", "Engine.run"},
		{"cancel", "Engine.abandon", "Mutex.Lock"},
	} {
		name := way[0]
		var all []*function
		for leg := 0; ; leg++ { // from one request to the next
			rounds, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%s.*.%d", name, leg)))
			if err != nil || len(rounds) == 0 {
				break
			}
			times := map[string]int{} // by file:line: the number of rounds. In one of them another timer may fire
			for _, round := range rounds {
				for line := range strings.Lines(run("go", "tool", "covdata", "func", "-i", round)) {
					f := strings.Fields(line) // file:line: name percentage
					if place, ok := strings.CutPrefix(f[0], module+"/"); ok && f[2] != "0.0%" {
						times[strings.TrimSuffix(place, ":")]++
					}
				}
			}
			for _, f := range library {
				f.ran = times[f.place] == len(rounds)
			}
			all = inOrder(all, library, append(way[1:], "Engine.handOut", "Request.lockAnswered", "Request.unlockAnswered", "Request.renewAnswered"))
		}
		files, packages, lines := map[string]bool{}, map[string]bool{}, 0
		for _, f := range all {
			t.Logf("%s: %s, %d lines", f.file, f.name, f.lines)
			files[f.file], packages[filepath.Dir(f.file)] = true, true
			lines += f.lines
		}
		sum := fmt.Sprintf("%d functions in %d files of %d packages, %d lines", len(all), len(files), len(packages), lines)
		t.Log(name+":", sum)
		between := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->\n).*?(<!-- end -->)`)
		text = between.ReplaceAll(text, []byte("${1}```\n"+list(all, listed)+"("+sum+")\n```\n${2}"))
	}
	if *write {
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// list has a line for each run of functions in one file. It leaves out small packages that only
// compute, and what an earlier list has.
func list(all []*function, listed map[*function]bool) string {
	var b strings.Builder
	last := ""
	for _, f := range all {
		file := strings.TrimPrefix(f.file, "internal/")
		dir := filepath.Dir(file)
		if listed[f] || !slices.Contains([]string{".", "engine", "machine", "wire", "call", "subscription"}, dir) {
			continue
		}
		listed[f] = true
		if file == last {
			b.WriteString(", " + f.decl.Name.Name)
		} else {
			b.WriteString("\n" + file + ": " + f.decl.Name.Name)
		}
		last = file
	}
	return strings.TrimPrefix(b.String(), "\n") + "\n"
}

// Package guide_test has the code that the pages of docs/guide show, and runs it on real servers.
package guide_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A free Lock goes a short way: no more functions, in no more packages, than a reader can follow.
// `go test -v -run TestWayOfALock ./test/guide` prints them.
func TestWayOfALock(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the library with counters, which takes a while")
	}
	const (
		module        = "github.com/holdfast-go/holdfast"
		mostFunctions = 90
		mostPackages  = 9 // one of them, lifetime, is read alone
	)
	dir := t.TempDir()
	program := filepath.Join(dir, "lock")
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+","+module+"/driver,"+module+"/internal/...,"+module+"/test/guide/testdata/lock", "-o", program, "./testdata/lock")
	run(program, dir)
	packages := map[string]int{}
	functions := 0
	for line := range strings.Lines(run("go", "tool", "covdata", "func", "-i", dir)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] == "0.0%" || !strings.HasPrefix(f[0], module) || strings.Contains(f[0], "/test/") {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimPrefix(f[0], module+"/"), ":")
		packages[filepath.Dir(file)]++
		functions++
		t.Log(file, f[1])
	}
	if functions == 0 || functions > mostFunctions || len(packages) > mostPackages {
		t.Errorf("a Lock runs %d functions in %d packages (%v); want %d in %d at most: join helpers, or raise the number and say why", functions, len(packages), packages, mostFunctions, mostPackages)
	}
}

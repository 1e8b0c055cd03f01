//go:build !race

package holdfast_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Every package with tests stands in what make test runs or in what make test-all
// runs.
func TestMakeTestsEveryPackage(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make here, so nobody can run it")
	}
	commands, err := exec.CommandContext(t.Context(), "make", "-n", "test", "test-all").CombinedOutput()
	if err != nil {
		t.Fatalf("make -n test test-all: %v\n%s", err, commands)
	}
	run := strings.FieldsFunc(string(commands), func(r rune) bool { return strings.ContainsRune(" \n\"'\\", r) })
	seen := map[string]bool{}
	for _, s := range sources(t) {
		p := strings.TrimSuffix(modulePath+"/"+s.dir(), "/.")
		if !s.test() || seen[p] {
			continue
		}
		seen[p] = true
		if !slices.Contains(run, p) {
			t.Errorf("neither make test nor make test-all runs %s: what nobody runs is soon wrong", p)
		}
	}
}

package script

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// The lists have every script, and each once: what is left out no test looks at, and an
// error of its commands is not explained.
func TestListsHaveEveryScript(t *testing.T) {
	source, err := os.ReadFile("script.go")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`= load\("(\w+)"\)`).FindAllSubmatch(source, -1) {
		want = append(want, string(m[1]))
	}
	for _, s := range slices.Concat(All(), Shared(), Quorum(), Journal()) {
		got = append(got, s.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the lists have %q, want %q", got, want)
	}
}

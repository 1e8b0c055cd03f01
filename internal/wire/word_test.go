package wire

import (
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/script"
)

// readElsewhere has what scripts answer whose replies are no Answer: other functions read them.
const readElsewhere = "|details|forgotten|leader|newer|node|not all|noted|once|scheduled|swept|unknown|written|"

// Each script answers words, and each word is answered by a script.
func TestWordsAreThoseOfScripts(t *testing.T) {
	answered := map[Word]bool{Passed: true}
	for _, f := range script.All() {
		for _, m := range regexp.MustCompile(`return (?:\{|\w+\()?'([a-z ]*[a-z])`).FindAllStringSubmatch(f.Source, -1) {
			if w := wordOf[m[1]]; w != NoWord {
				answered[w] = true
			} else if !strings.Contains(readElsewhere, "|"+m[1]+"|") {
				t.Errorf("%s answers %q, which no Word has", f.Name, m[1])
			}
		}
	}
	for w := NoWord + 1; w < Split; w++ {
		if !answered[w] {
			t.Errorf("no script answers %q", w)
		}
	}
}

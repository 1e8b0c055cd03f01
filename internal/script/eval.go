package script

import (
	"strings"

	"github.com/holdfast-go/holdfast/driver"
)

// evalCheck is part/eval_check.lua in one line, with a space behind it.
var evalCheck = oneLine(expand("part/eval_check"))

// Checked is a script of the user behind the check of Lease.Eval. The user's text is the
// rest of the chunk, not the body of a function or a text to compile: each
// chunk is a chunk here, too, with the same lines, and nothing it holds can
// come before the check.
func Checked(source string) *driver.Script { return driver.NewScript("eval", evalCheck+source) }

// oneLine joins the lines of a Lua text whose comments fill lines.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			b.WriteString(line + " ")
		}
	}
	return b.String()
}

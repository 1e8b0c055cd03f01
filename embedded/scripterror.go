package embedded

import (
	"regexp"
	"strings"
)

// place is where in a script something happened, as the Lua of miniredis says it.
var place = regexp.MustCompile(`^:(\d+): `)

// reword turns miniredis' wording of a script's error into that of Redis 7,
// without its note on where in which script.
func reword(message string) string {
	wrapped, ok := strings.CutPrefix(message, "ERR Error compiling script (new function): ")
	if !ok {
		return message // the script returned it
	}
	end := strings.LastIndex(wrapped, " stack traceback:")
	if end < 0 {
		return message // it is right: the script does not compile
	}
	text, trace := wrapped[:end], wrapped[end:]
	if strings.HasPrefix(trace, " stack traceback:  [G]: in function 'call'") { // redis.call: a command's own error
		text = place.ReplaceAllString(text, "")
		if code, _, _ := strings.Cut(text, " "); code == strings.ToUpper(code) {
			return text
		}
		return "ERR " + text
	}
	return "ERR " + place.ReplaceAllString(text, "user_script:$1: ")
}

package embedded

import (
	"bufio"
	"bytes"
	"regexp"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// dispatch runs a command. A script's error is worded again on its way out: all
// that begin as differently as "WRONGTYPE" and "ERR user_script:3: …" in Redis
// begin as "ERR Error compiling script" in miniredis.
func (s *Store) dispatch(peer *server.Peer, args []string) {
	switch strings.ToUpper(args[0]) {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
	default:
		s.server.Dispatch(peer, args)
		return
	}
	var answer bytes.Buffer
	inner := server.NewPeer(bufio.NewWriter(&answer))
	inner.Ctx, inner.Resp3 = peer.Ctx, peer.Resp3
	s.server.Dispatch(inner, args)
	inner.Flush()
	if message, ok := bytes.CutPrefix(answer.Bytes(), []byte("-")); ok {
		peer.WriteError(reword(strings.TrimSuffix(string(message), "\r\n")))
		return
	}
	peer.WriteRaw(answer.String())
}

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

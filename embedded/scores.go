package embedded

import (
	"math"
	"strconv"

	"github.com/alicebob/miniredis/v2/server"
)

// Redis writes a score that is a whole number as one, 1763650000000000. Miniredis
// writes 1.76365e+15, and a script that hands it on hands on something else.

// writeScores answers a command whose reply has scores, of RESP2 peers, in
// Redis' way: a single one, or one after each member.
func (s *Store) writeScores(peer *server.Peer, cmd string, args []string) bool {
	single := cmd == "ZSCORE" || cmd == "ZINCRBY"
	if peer.Resp3 || !single && cmd != "ZPOPMIN" && cmd != "ZPOPMAX" && !has(args, "WITHSCORES") {
		return false
	}
	reply, err := s.plain(peer.Ctx, append([]string{cmd}, args...)...)
	switch reply := reply.(type) {
	case string:
		peer.WriteBulk(score(reply))
	case []any:
		peer.WriteLen(len(reply))
		for i, element := range reply {
			text, _ := element.(string)
			if i%2 == 1 {
				text = score(text)
			}
			peer.WriteBulk(text)
		}
	default:
		if err != nil {
			peer.WriteError(err.Error())
		} else {
			peer.WriteNull()
		}
	}
	return true
}

func score(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return text
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

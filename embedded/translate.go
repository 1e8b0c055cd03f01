package embedded

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// intercept is called by miniredis before every command, also before those that a script calls.
// It answers commands that read or set times, refuses those that would be wrong here, and
// corrects how scores are written. It returns false for all others. Inside a script, miniredis
// holds its own lock.
func (m *mini) intercept(peer *server.Peer, cmd string, args ...string) bool {
	if m.direct {
		return false
	}
	if reason, ok := unsupported[cmd]; ok {
		peer.WriteError(reason)
		return true
	}
	switch cmd {
	case "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME":
		return m.readExpiry(peer, cmd, args)
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return m.setExpiry(peer, cmd, args)
	case "SETEX", "PSETEX":
		return m.setWithExpiry(peer, cmd, args)
	case "SET":
		return m.setOptions(peer, cmd, args, 2)
	case "GETEX":
		return m.setOptions(peer, cmd, args, 1)
	case "RENAME", "RENAMENX", "COPY":
		return m.carry(peer, cmd, args)
	case "ZSCORE", "ZINCRBY", "ZPOPMIN", "ZPOPMAX", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE":
		return m.writeScores(peer, cmd, args)
	case "SELECT":
		return refuseIf(peer, len(args) == 1 && args[0] != "0", "ERR DB index is out of range")
	case "XREAD", "XREADGROUP":
		return refuseIf(peer, has(args, "BLOCK"), blocking)
	case "INFO":
		m.info(peer)
		return true
	}
	return false
}

const (
	blocking    = "ERR the embedded store has no commands that block"
	transaction = "ERR the embedded store has no transactions: use a script"
	fields      = "ERR the embedded store has no expiring hash fields"
	oneDatabase = "ERR the embedded store has one database"
)

// unsupported are the commands that miniredis knows and that would be wrong here.
// The answer to CLUSTER is that of a Redis without it: clients look for it.
var unsupported = map[string]string{
	"BLPOP": blocking, "BRPOP": blocking, "BRPOPLPUSH": blocking, "BLMOVE": blocking, "BLMPOP": blocking,
	"BZPOPMIN": blocking, "BZPOPMAX": blocking, "BZMPOP": blocking,
	"MULTI": transaction, "WATCH": transaction,
	"HEXPIRE": fields, "HPEXPIRE": fields, "HEXPIREAT": fields, "HPEXPIREAT": fields, "HSETEX": fields, "HGETEX": fields,
	"MOVE": oneDatabase, "SWAPDB": oneDatabase,
	"RESTORE": "ERR the embedded store has no RESTORE",
	"CLUSTER": "ERR This instance has cluster support disabled",
}

func refuseIf(peer *server.Peer, yes bool, reason string) bool {
	if yes {
		peer.WriteError(reason)
	}
	return yes
}

func has(args []string, word string) bool {
	for _, arg := range args {
		if strings.EqualFold(arg, word) {
			return true
		}
	}
	return false
}

// readExpiry answers TTL and its like from the deadline that miniredis takes for
// a remaining time. Its -1 and -2 stay.
func (m *mini) readExpiry(peer *server.Peer, cmd string, args []string) bool {
	if len(args) != 1 {
		return false
	}
	reply, err := m.plain(peer.Ctx, "PTTL", args[0])
	at, ok := reply.(int64)
	if err != nil || !ok {
		return false // it says the same again, to peer
	}
	if at < 0 {
		peer.WriteInt(int(at))
		return true
	}
	left := m.remaining(at)
	wall := m.now.UnixMilli() + left
	answer := map[string]int64{
		"PTTL": left, "TTL": (left + 500) / 1000,
		"PEXPIRETIME": wall, "EXPIRETIME": (wall + 500) / 1000,
	}[cmd]
	peer.WriteInt(int(answer))
	return true
}

// setExpiry makes PEXPIRE with a deadline of EXPIRE and its like.
func (m *mini) setExpiry(peer *server.Peer, cmd string, args []string) bool {
	if len(args) < 2 {
		return false
	}
	ttl, ok := m.lifetime(cmd, args[1])
	if !ok {
		return refuseIf(peer, ttl > 0, invalid(cmd))
	}
	at := "0" // over already: delete it
	if ttl > 0 {
		at = decimal(m.after(ttl))
	}
	m.pass(peer, append([]string{"PEXPIRE", args[0], at}, args[2:]...)...)
	m.track(peer.Ctx, args[0])
	return true
}

// setWithExpiry makes PSETEX with a deadline of SETEX and PSETEX.
func (m *mini) setWithExpiry(peer *server.Peer, cmd string, args []string) bool {
	if len(args) != 3 {
		return false
	}
	ttl, ok := m.lifetime(cmd, args[1])
	if !ok || ttl <= 0 {
		return refuseIf(peer, ttl > 0, invalid(cmd))
	}
	m.pass(peer, "PSETEX", args[0], decimal(m.after(ttl)), args[2])
	m.track(peer.Ctx, args[0])
	return true
}

// setOptions translates EX, PX, EXAT and PXAT among the options that begin at
// from.
func (m *mini) setOptions(peer *server.Peer, cmd string, args []string, from int) bool {
	out := append([]string{cmd}, args...)
	for i := from; i+1 < len(args); i++ {
		unit := strings.ToUpper(args[i])
		switch unit {
		case "EX", "PX", "EXAT", "PXAT":
		default:
			continue
		}
		ttl, ok := m.lifetime(unit, args[i+1])
		if !ok {
			return refuseIf(peer, ttl > 0, invalid(cmd))
		}
		if ttl <= 0 && !strings.HasSuffix(unit, "AT") {
			return false // refused by miniredis
		}
		out[1+i], out[2+i] = "PX", decimal(max(1, m.after(ttl))) // 1: long ago
		i++
	}
	if len(args) <= from {
		return false
	}
	m.pass(peer, out...)
	m.track(peer.Ctx, args[0])
	return true
}

// carry lets a command through that gives its second key the deadline of its
// first.
func (m *mini) carry(peer *server.Peer, cmd string, args []string) bool {
	if len(args) < 2 || has(args[2:], "DB") {
		return refuseIf(peer, len(args) >= 2, oneDatabase)
	}
	m.pass(peer, append([]string{cmd}, args...)...)
	m.track(peer.Ctx, args[1])
	return true
}

// lifetime turns the time argument of a command or option into milliseconds from
// now on; zero or less is the past. Not ok is what no number is, and with a ttl
// above zero what is too long to be taken.
func (m *mini) lifetime(word, text string) (ttl int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false
	}
	if word[0] != 'P' { // seconds
		if n > longest/1000*20 { // before the product overflows
			return n, false
		}
		n = max(n, -longest/1000*20) * 1000
	}
	if strings.HasSuffix(word, "AT") {
		n = max(n, -longest) - m.now.UnixMilli()
	}
	return n, n <= longest
}

func invalid(cmd string) string {
	return "ERR invalid expire time in '" + strings.ToLower(cmd) + "' command"
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// info answers INFO of any section with what a client needs to know which run of a server
// answers.
func (m *mini) info(peer *server.Peer) {
	peer.WriteBulk("# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n" +
		"process_id:" + strconv.Itoa(os.Getpid()) + "\r\nrun_id:" + m.runID + "\r\n" +
		"server_time_usec:" + strconv.FormatInt(m.now.UnixMicro(), 10) + "\r\n" +
		"uptime_in_seconds:" + decimal(int64((m.now.Sub(m.epoch)-stepBack)/time.Second)) + "\r\n" +
		"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n")
}

// writeScores answers a command whose reply has scores as Redis does for RESP2: with a single
// score, or with one after each member.
func (m *mini) writeScores(peer *server.Peer, cmd string, args []string) bool {
	single := cmd == "ZSCORE" || cmd == "ZINCRBY"
	if peer.Resp3 || !single && cmd != "ZPOPMIN" && cmd != "ZPOPMAX" && !has(args, "WITHSCORES") {
		return false
	}
	reply, err := m.plain(peer.Ctx, append([]string{cmd}, args...)...)
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

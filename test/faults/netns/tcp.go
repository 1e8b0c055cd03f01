//go:build linux

package netns

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CaughtUp waits until TCP has sent again what was lost. TCP waits for twice as long
// after each time in vain, so a connection that was cut stays silent for up to as long
// again. It returns how long one did, and waits no longer than the limit: what is silent for
// longer is not so because it was cut.
func (n *Network) CaughtUp(limit time.Duration) (time.Duration, error) {
	const (
		between = 250 * time.Millisecond // most often TCP sends for the second time in it
		looks   = 2                      // that find nothing; a timer may be set again though nothing was sent
	)
	var took time.Duration
	began := time.Now()
	before, err := n.connections()
	for quiet := 0; err == nil && quiet < looks && took <= limit; quiet++ {
		time.Sleep(between)
		var now []connection
		now, err = n.connections()
		if slices.ContainsFunc(now, func(c connection) bool { return c.silent(before) }) {
			quiet, took = -1, time.Since(began)
		}
		before = now
	}
	return took, err
}

// connections are those between lines and servers, from either end.
func (n *Network) connections() ([]connection, error) {
	n.mu.Lock()
	lines := make(map[netip.Addr]*Line, len(n.lines))
	for _, l := range n.lines {
		lines[l.Addr()] = l
	}
	n.mu.Unlock()
	all, err := connectionsIn(nil, func(to netip.Addr) bool { return lines[to] != nil })
	for _, l := range lines {
		if err != nil {
			return nil, err
		}
		var more []connection
		more, err = connectionsIn(l.space, n.block.prefix().Contains)
		all = append(all, more...)
	}
	return all, err
}

// connectionsIn reads the kernel's table.
func connectionsIn(s *space, peer func(netip.Addr) bool) (all []connection, err error) {
	var table []byte
	var now time.Time
	err = s.do(func() (err error) {
		now = time.Now()
		table, err = os.ReadFile("/proc/thread-self/net/tcp")
		return err
	})
	for line := range strings.Lines(string(table)) {
		if c, ok := parse(line, now); ok && peer(c.to) {
			all = append(all, c)
		}
	}
	return all, err
}

// connection is a line of the table.
type connection struct {
	ends  string // both, as the kernel writes them
	to    netip.Addr
	state string    // 01 established, 02 and 03 on its way to that
	timer string    // 01: it waits to send again; 04: it could not send at all, or there was no room, and probes
	due   time.Time // when the timer ends; of one that is overdue the time of the look
	late  bool      // it is overdue: the kernel has it end some 100 ms late, if it is a long one
	again int       // times
}

// silent reports whether something has to be sent again, given the connections of a
// while ago. One that was slow before it was cut sends again seconds later for the
// first time: until then its timer is the one of a while ago.
func (c *connection) silent(before []connection) bool {
	const same = 100 * time.Millisecond
	switch c.state {
	case "01":
		return c.timer == "04" || c.timer == "01" && (c.again > 0 || slices.ContainsFunc(before, func(b connection) bool {
			return b.ends == c.ends && b.timer == c.timer && (c.late || c.due.Sub(b.due).Abs() < same)
		}))
	case "02", "03":
		return true
	}
	return false // it is at its end
}

// parse reads
//
//	sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt …
//
// with when in hundredths of a second from now.
func parse(line string, now time.Time) (c connection, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 7 {
		return c, false
	}
	host, _, _ := strings.Cut(fields[2], ":")
	bytes, err := hex.DecodeString(host)
	if err != nil || len(bytes) != 4 {
		return c, false // the heading
	}
	var addr [4]byte
	binary.NativeEndian.PutUint32(addr[:], binary.BigEndian.Uint32(bytes))
	c.ends, c.to, c.state = fields[1]+" "+fields[2], netip.AddrFrom4(addr), fields[3]
	timer, when, _ := strings.Cut(fields[5], ":")
	hundredths, err := strconv.ParseInt(when, 16, 64)
	if err != nil {
		return c, false
	}
	c.timer, c.due, c.late = timer, now.Add(time.Duration(hundredths)*10*time.Millisecond), hundredths == 0
	_, err = fmt.Sscanf(fields[6], "%x", &c.again)
	return c, err == nil
}

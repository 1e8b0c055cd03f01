//go:build linux

package netns

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"
)

// CaughtUp waits until TCP has sent again what was lost: it waits for twice as
// long after each time in vain, so a connection that was cut for a while stays
// silent for up to as long again. It says how long one did, and waits no longer
// than the limit: what is silent for longer is not so because it was cut.
func (n *Network) CaughtUp(limit time.Duration) (time.Duration, error) {
	const (
		first = 250 * time.Millisecond // in which it sends for the second time
		looks = 3                      // that find nothing
	)
	var took time.Duration
	began := time.Now()
	time.Sleep(first)
	for quiet := 0; quiet < looks; quiet++ {
		silent, err := n.silent()
		if err != nil {
			return 0, err
		}
		if silent > 0 {
			quiet, took = -1, time.Since(began)
		}
		if took > limit {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return took, nil
}

// silent counts the connections of which something has to be sent again, seen
// from either end.
func (n *Network) silent() (int, error) {
	n.mu.Lock()
	lines := make(map[netip.Addr]*Line, len(n.lines))
	for _, l := range n.lines {
		lines[l.Addr()] = l
	}
	n.mu.Unlock()
	all, err := silentIn(nil, func(to netip.Addr) bool { return lines[to] != nil })
	for _, l := range lines {
		if err != nil {
			return 0, err
		}
		var more int
		more, err = silentIn(l.space, n.block.prefix().Contains)
		all += more
	}
	return all, err
}

// silentIn reads the kernel's table.
func silentIn(s *space, peer func(netip.Addr) bool) (all int, err error) {
	var table []byte
	err = s.do(func() (err error) {
		table, err = os.ReadFile("/proc/thread-self/net/tcp")
		return err
	})
	for line := range strings.Lines(string(table)) {
		if c, ok := parse(line); ok && c.silent() && peer(c.to) {
			all++
		}
	}
	return all, err
}

// connection is a line of the table.
type connection struct {
	to    netip.Addr
	state string // 01 established, 02 and 03 on its way to that
	timer string // 01: it waits to send again; 04: it could not send at all, or there was no room, and probes
	again int    // times
}

func (c *connection) silent() bool {
	switch c.state {
	case "01":
		return c.timer == "01" && c.again > 0 || c.timer == "04"
	case "02", "03":
		return true
	}
	return false // it is at its end
}

// parse reads
//
//	sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt …
func parse(line string) (c connection, ok bool) {
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
	c.to, c.state = netip.AddrFrom4(addr), fields[3]
	c.timer, _, _ = strings.Cut(fields[5], ":")
	_, err = fmt.Sscanf(fields[6], "%x", &c.again)
	return c, err == nil
}

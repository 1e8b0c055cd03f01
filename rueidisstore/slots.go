package rueidisstore

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

const (
	// slotsFor is how long an answer to CLUSTER SLOTS is used.
	slotsFor = time.Second
	// slotsFrom is how many nodes are asked: one of them may be frozen.
	slotsFrom = 4
)

// slots says where the slots of a Cluster are. rueidis knows it, and does not export it.
type slots struct {
	mu      sync.Mutex // protects the rest
	ranges  []slotRange
	read    time.Time
	reading chan struct{} // closed when they have been read; nil when nobody does
}

type slotRange struct {
	from, to int64
	master   string
}

// current returns an answer that is at most a second old, if there is one in time, or else the
// last one.
func (s *slots) current(ctx context.Context, client rueidis.Client) []slotRange {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < slotsFor {
		return s.ranges
	}
	if s.reading == nil {
		s.reading = make(chan struct{})
		go s.reload(client)
	}
	reading := s.reading
	s.mu.Unlock()
	select {
	case <-reading:
	case <-ctx.Done():
	}
	s.mu.Lock()
	return s.ranges
}

// forget is called when an answer was out of date.
func (s *slots) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = time.Time{}
}

// reload takes the first of several answers.
func (s *slots) reload(client rueidis.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), slotsFor)
	defer cancel()
	answers := make(chan []slotRange, slotsFrom)
	asked := 0
	for addr, node := range client.Nodes() { // in a random order
		if asked++; asked > slotsFrom {
			break
		}
		go func() {
			result, err := ask(ctx, node, node.B().ClusterSlots().Build())
			if err != nil {
				answers <- nil
				return
			}
			answers <- parseSlots(result, addr)
		}()
	}
	var ranges []slotRange
	for range min(asked, slotsFrom) {
		if ranges = <-answers; ranges != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = time.Now()
	if ranges != nil { // else the last answer: without one each subscription would get a connection of its own
		s.ranges = ranges
	}
	close(s.reading)
	s.reading = nil
}

// parseSlots reads an answer to CLUSTER SLOTS: of each range its first and last slot,
// and its nodes, the master first. Without a host it is the one that was asked.
func parseSlots(result rueidis.RedisResult, asked string) (ranges []slotRange) {
	rows, _ := result.ToArray()
	for _, row := range rows {
		columns, _ := row.ToArray()
		if len(columns) < 3 {
			continue
		}
		from, err1 := columns[0].AsInt64()
		to, err2 := columns[1].AsInt64()
		master, _ := columns[2].ToArray()
		if err1 != nil || err2 != nil || len(master) < 2 {
			continue
		}
		host, _ := master[0].ToString()
		port, err := master[1].AsInt64()
		if host == "" {
			host, _, _ = net.SplitHostPort(asked)
		}
		if err == nil && host != "?" {
			ranges = append(ranges, slotRange{from, to, net.JoinHostPort(host, strconv.FormatInt(port, 10))})
		}
	}
	return ranges
}

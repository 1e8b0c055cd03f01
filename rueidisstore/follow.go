package rueidisstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/channels"
	"github.com/redis/rueidis"
)

// lookEvery is how often a subscription looks where the master is: a look at the
// client's memory, which costs a microsecond.
const lookEvery = 100 * time.Millisecond

// master is the client for a subscription, and with Sentinel the address of the
// master that it is bound to. A client with SendToReplicas does not tell which of
// its two nodes that is, but goes there for a connection of one's own.
func (s *Store) master() (client rueidis.Client, addr string) {
	if s.client.Mode() == rueidis.ClientModeSentinel {
		if nodes := s.client.Nodes(); len(nodes) == 1 {
			for addr, node := range nodes {
				return node, addr
			}
		}
	}
	return s.client, ""
}

// follow ends a subscription when Sentinel has made another server the master:
// the connection to one that froze does not end by itself, and nobody publishes
// there any more.
func (s *Store) follow(sub *channels.Subscription, addr string) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-sub.Done():
			return
		case <-look.C:
		}
		if _, now := s.master(); now != addr {
			sub.Close()
			return
		}
	}
}

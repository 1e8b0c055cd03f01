package bulk

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// holder has the name for which the others wait, in this process, and asks Redis about
// them.
type holder struct {
	store  *rueidisstore.Store
	client *holdfast.Client
	lease  *holdfast.Lease
	raw    rueidis.Client
}

func newHolder(server *redistest.Server, name string) (*holder, error) {
	raw, err := newRueidis(server.Addr())
	if err != nil {
		return nil, err
	}
	h := &holder{store: rueidisstore.New(raw), raw: raw}
	h.client = holdfast.New(h.store, &holdfast.Options{Owner: "holder"})
	if h.lease, err = h.client.Mutex(name).Lock(context.Background()); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *holder) release() error { return h.lease.Release() }

func (h *holder) Close() {
	_ = h.client.Close() // what it holds, nobody else wants any more
	_ = h.store.Close()
	h.raw.Close()
}

// queue returns the labels of the waiters in their order. The label of an id is the part behind
// the bar.
func (h *holder) queue(name string) ([]string, error) {
	key := fmt.Sprintf("holdfast/queue:{%s%s}", holdfast.DefaultPrefix, name)
	ids, err := h.raw.Do(context.Background(), h.raw.B().Zrange().Key(key).Min("0").Max("-1").Build()).AsStrSlice()
	for i, id := range ids {
		_, ids[i], _ = strings.Cut(id, "|")
	}
	return ids, err
}

// channels returns how many channels have subscribers.
func (h *holder) channels() (int, error) {
	found, err := h.raw.Do(context.Background(), h.raw.B().PubsubChannels().Pattern("holdfast/push:*").Build()).AsStrSlice()
	return len(found), err
}

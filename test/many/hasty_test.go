//go:build unix

// Package many_test tests large numbers on real servers: many callers, readers or replicas, and
// random calls of a batch script, whose results must be those of the single calls.
package many_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// Who leaves before the answer comes takes no connection with it: what this process
// holds is renewed on it, and a full server takes no other.
func TestHastyCallers(t *testing.T) {
	for _, d := range clienttest.Drivers {
		for _, look := range []string{"Inspect", "Leader", "Survey", "Names"} {
			if d.Name == "goredis" && (look == "Survey" || look == "Names") {
				continue // lists names on a connection of its own
			}
			t.Run(d.Name+"/"+look, func(t *testing.T) {
				server := redistest.Start(t, redistest.Options{})
				proxy := redistest.StartProxy(t, server.Addr())
				client := holdfast.New(d.Open(t, "redis://"+proxy.Addr(), clienttest.Way{}), &holdfast.Options{TTL: clienttest.Long})
				t.Cleanup(func() { client.Close() })
				h := hasty{t, client, admin.Of(client), server, proxy, look}
				h.leave(50*time.Millisecond, 5*time.Millisecond)
			})
		}
		t.Run(d.Name+"/details", func(t *testing.T) {
			server := redistest.Start(t, redistest.Options{})
			proxy := redistest.StartProxy(t, server.Addr())
			client := holdfast.New(d.Open(t, "redis://"+proxy.Addr(), clienttest.Way{}), &holdfast.Options{TTL: clienttest.Long})
			t.Cleanup(func() { client.Close() })
			h := hasty{t, client, admin.Of(client), server, proxy, "Inspect"}
			h.leave(400*time.Millisecond, 10*time.Second) // an Inspect leaves them by itself
		})
	}
}

func TestHastyCallersOfAQuorum(t *testing.T) {
	for _, look := range []string{"Inspect", "Leader"} {
		t.Run(look, func(t *testing.T) {
			d := clienttest.Deploy(t, 3)
			client := d.Client(holdfast.QuorumOptions{TTL: time.Minute})
			d.Proxies[1].Delay(50 * time.Millisecond)
			h := hasty{t, client, admin.OfQuorum(client), d.Servers[0], d.Proxies[0], look}
			h.leave(50*time.Millisecond, 5*time.Millisecond)
		})
	}
}

// hasty are callers that look at a held name, through a proxy.
type hasty struct {
	t      *testing.T
	client clienttest.Locker
	names  admin.Reader
	server *redistest.Server
	proxy  *redistest.Proxy
	kind   string
}

// leave lets them look and leave so soon while answers take a delay, and fails if one of
// the connections to the server ends.
func (h hasty) leave(delay, soon time.Duration) {
	h.t.Helper()
	lease := clienttest.Take(h.t, h.client, "held")
	before := connections(h.t, h.server)
	h.proxy.Delay(delay)
	for range 3 {
		ctx, cancel := context.WithTimeout(h.t.Context(), soon)
		switch err := h.look(ctx); {
		case soon < delay && !errors.Is(err, context.DeadlineExceeded):
			h.t.Errorf("got %v, want the end of its context", err)
		case soon >= delay && err != nil:
			h.t.Error(err)
		}
		cancel()
		time.Sleep(2 * delay) // what stayed behind has its answer: the next is alone
	}
	h.proxy.Delay(0)
	after := connections(h.t, h.server)
	for id := range before {
		if !after[id] {
			h.t.Errorf("connection %s of %d is gone", id, len(before))
		}
	}
	clienttest.GiveBack(h.t, lease)
}

func (h hasty) look(ctx context.Context) (err error) {
	switch h.kind {
	case "Inspect":
		_, err = h.names.Inspect(ctx, "held")
	case "Leader":
		_, err = h.client.Election("e").Leader(ctx)
	case "Survey":
		_, err = h.names.Survey(ctx, "", 0)
	default:
		for _, err = range h.names.Names(ctx, "") {
			break
		}
	}
	return err
}

var connectionID = regexp.MustCompile(`(?m)^id=(\d+) .* cmd=(\S+)`)

// connections are the ids of all but those that ask for them.
func connections(t *testing.T, server *redistest.Server) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for _, c := range connectionID.FindAllStringSubmatch(server.MustDo(t, "CLIENT", "LIST"), -1) {
		if c[2] != "client|list" {
			ids[c[1]] = true
		}
	}
	return ids
}

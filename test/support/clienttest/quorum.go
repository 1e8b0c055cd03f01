package clienttest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/quorum"
	"github.com/holdfast-go/holdfast/test/support/redistest"
	"github.com/redis/rueidis"
)

// Deployment is a quorum of real servers.
type Deployment struct {
	t       testing.TB
	ID      string
	Servers []*redistest.Server
	Proxies []*redistest.Proxy
}

// Deploy starts n servers and makes a quorum of them that may vote at once.
func Deploy(t testing.TB, n int) *Deployment {
	t.Helper()
	d := &Deployment{t: t}
	for range n {
		server := redistest.Start(t, redistest.Options{})
		d.Servers = append(d.Servers, server)
		d.Proxies = append(d.Proxies, redistest.StartProxy(t, server.Addr()))
	}
	id, err := quorum.Init(t.Context(), "demo", true, d.Members()...)
	if err != nil {
		t.Fatal(err)
	}
	d.ID = id
	return d
}

// Members are the servers, past the proxies.
func (d *Deployment) Members(only ...int) (members []quorum.Member) {
	for i, s := range d.Servers {
		if len(only) > 0 && !slices.Contains(only, i) {
			continue
		}
		members = append(members, quorum.Member{Address: fmt.Sprintf("node%d", i+1), Store: OpenStore(d.t, s.URL(), nil)})
	}
	return members
}

// Client locks through the proxies.
func (d *Deployment) Client(options holdfast.QuorumOptions, only ...int) *holdfast.QuorumClient {
	d.t.Helper()
	return d.ClientOf(d.ID, options, only...)
}

// ClientOf is Client with another quorum-id.
func (d *Deployment) ClientOf(id string, options holdfast.QuorumOptions, only ...int) *holdfast.QuorumClient {
	d.t.Helper()
	var stores []driver.Store
	for i, p := range d.Proxies {
		if len(only) > 0 && !slices.Contains(only, i) {
			continue
		}
		stores = append(stores, OpenStore(d.t, "redis://"+p.Addr(), func(o *rueidis.ClientOption) { o.ForceSingleClient = true }))
	}
	client := holdfast.NewQuorum(id, &options, stores...)
	d.t.Cleanup(func() { _ = client.Close() }) // some tests end with nodes that do not answer
	return client
}

// LockIn calls Lock, which must return within that time.
func LockIn(t testing.TB, client Locker, name string, within time.Duration) (*holdfast.Lease, error) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return client.Mutex(name).Lock(ctx)
}

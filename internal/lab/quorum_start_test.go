//go:build unix

package lab_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/lab/redistest"
	"github.com/redis/rueidis"
)

// deployment is a quorum of real servers.
type deployment struct {
	t       testing.TB
	id      string
	servers []*redistest.Server
	proxies []*redistest.Proxy
}

const keyM = "holdfast/marker"

// deploy starts n servers and makes a quorum of them that may vote at once.
func deploy(t testing.TB, n int) *deployment {
	t.Helper()
	d := &deployment{t: t}
	for range n {
		server := redistest.Start(t, redistest.Options{})
		d.servers = append(d.servers, server)
		d.proxies = append(d.proxies, redistest.StartProxy(t, server.Addr()))
	}
	id, err := holdfast.InitQuorum(t.Context(), "lab", true, d.members()...)
	if err != nil {
		t.Fatal(err)
	}
	d.id = id
	return d
}

// members are the servers, past the proxies.
func (d *deployment) members(only ...int) (members []holdfast.QuorumMember) {
	for i, s := range d.servers {
		if len(only) > 0 && !contains(only, i) {
			continue
		}
		members = append(members, holdfast.QuorumMember{Address: fmt.Sprintf("node%d", i+1), Store: openStore(d.t, s.URL(), nil)})
	}
	return members
}

func contains(list []int, n int) bool {
	for _, m := range list {
		if m == n {
			return true
		}
	}
	return false
}

// client locks through the proxies.
func (d *deployment) client(options holdfast.Options, only ...int) *holdfast.Client {
	d.t.Helper()
	var stores []driver.Store
	for i, p := range d.proxies {
		if len(only) > 0 && !contains(only, i) {
			continue
		}
		stores = append(stores, openStore(d.t, "redis://"+p.Addr(), func(o *rueidis.ClientOption) { o.ForceSingleClient = true }))
	}
	if options.Quorum == "" {
		options.Quorum = d.id
	}
	client := holdfast.NewQuorum(&options, stores...)
	d.t.Cleanup(func() { _ = client.Close() }) // some tests end with nodes that do not answer
	return client
}

// runOf is the run_id of a server.
func runOf(s *redistest.Server) (string, error) {
	return s.Do("EVAL", "return redis.call('INFO','server'):match('run_id:(%x+)')", 0)
}

// on counts the nodes that have a key.
func (d *deployment) on(key string) (n int) {
	d.t.Helper()
	for _, s := range d.servers {
		if v, err := s.Do("EXISTS", key); err == nil && v == "1" {
			n++
		}
	}
	return n
}

func lockIn(t testing.TB, client *holdfast.Client, name string, within time.Duration) (*holdfast.Lease, error) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return client.Mutex(name).Lock(ctx)
}

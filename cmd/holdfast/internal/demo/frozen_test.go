package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/embedded"
)

// Where processes can't be frozen, a buyer whose Client is cut off stands in, and
// the same happens.
func TestDemoStalledBuyer(t *testing.T) {
	server := shopServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTimeout)
	defer cancel()
	sale := newSale(server.URL(), "stalled:", options{stock: 1, buyers: 2})
	shop, err := openShop(ctx, sale)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shop.close() }()
	stalled, err := newStalledBuyer(ctx, sale, 0)
	if err != nil {
		t.Fatal(err)
	}
	next, err := newBuyer(ctx, sale, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, checked := range []bool{false, true} {
		got, err := shop.freezeOne(ctx, stalled, next, checked)
		if err != nil {
			t.Fatal(err)
		}
		if got.checked != checked || got.refused != checked || got.oversold() != map[bool]int{false: 1, true: 0}[checked] || got.froze < saleTTL/2 || got.froze > time.Minute {
			t.Errorf("a till that checks: %v: got %+v", checked, got)
		}
	}
	for _, err := range []error{stalled.leave(), next.close(), shop.removeAll(ctx)} {
		if err != nil {
			t.Error(err)
		}
	}
	if got := keysOf(t, server); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

func shopServer(t *testing.T) *embedded.Store {
	t.Helper()
	server, err := dev.StartEmbedded("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// keysOf are all keys of the server, as one text.
func keysOf(t *testing.T, server *embedded.Store) string {
	t.Helper()
	var all []string
	for key, err := range server.Scan(context.Background(), "*") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return strings.Join(all, " ")
}

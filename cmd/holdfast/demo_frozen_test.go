package main

import (
	"context"
	"testing"
	"time"
)

// Where processes can't be frozen, a buyer whose Client is cut off stands in, and
// the same happens.
func TestDemoStalledBuyer(t *testing.T) {
	server := startServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTimeout)
	defer cancel()
	sale := newSale(server.URL(), "stalled:", demoOptions{stock: 1, buyers: 2})
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
	if got := keys(t, server); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

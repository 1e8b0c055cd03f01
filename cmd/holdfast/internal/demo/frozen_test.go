package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/embedded"
)

// Where processes can't be frozen, a buyer whose Client is cut off stands in, and
// the same happens.
func TestDemoStalledBuyer(t *testing.T) {
	server := shopServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTimeout)
	defer cancel()
	sale := &sale{server.URL(), "stalled:", 1, 2}
	store, err := connect.OpenStore(ctx, sale.URL)
	if err != nil {
		t.Fatal(err)
	}
	shop := &shop{sale, store}
	var buyers [2]customer
	for i := range buyers {
		if buyers[i], err = newBuyer(ctx, sale, i); err != nil {
			t.Fatal(err)
		}
	}
	results, err := shop.playFrozen(ctx, buyers[0], buyers[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range results {
		checked, froze := i == 1, time.Duration(got.Froze)
		if got.TokenChecked != checked || got.Refused != checked || got.Oversold != 1-i || froze < saleTTL/2 || froze > time.Minute {
			t.Errorf("a till that checks: %v: got %+v", checked, got)
		}
	}
	for _, err := range []error{buyers[0].leave(), buyers[1].leave(), shop.close(ctx)} {
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

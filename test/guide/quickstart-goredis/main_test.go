package main

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestQuickStart(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	defer rdb.Close()
	if err := run(t.Context(), rdb); err != nil {
		t.Error(err)
	}
}

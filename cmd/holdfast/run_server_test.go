package main

import (
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/dev"
	"github.com/holdfast-go/holdfast/embedded"
)

// startServer serves a Redis for one test.
func startServer(t *testing.T) *embedded.Store {
	t.Helper()
	server, err := dev.StartEmbedded("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// deleteKey takes the lock away from whoever holds job.
func deleteKey(t *testing.T, server *embedded.Store) {
	t.Helper()
	if got, err := server.Do("DEL", "holdfast:job"); err != nil || got != int64(1) {
		t.Fatalf("DEL: got %v, %v, want 1", got, err)
	}
}

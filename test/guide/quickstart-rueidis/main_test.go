package main

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/holdfast-go/holdfast/test/support/redistest"
)

func TestQuickStart(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	rdb, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, PipelineMultiplex: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	if err := run(t.Context(), rdb); err != nil {
		t.Error(err)
	}
}

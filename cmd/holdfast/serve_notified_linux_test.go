package main

import "testing"

// A client that may write to the keys has put a huge text into the record of notifications. It is
// removed unread.
func TestServeReadsNoHugeRecord(t *testing.T) {
	const key = "holdfast/notified:holdfast:"
	server := startRedis(t)
	server.do(t, "EVAL", "redis.call('HSET', KEYS[1], 'n', string.rep(string.rep('x', 1000000), 400))", "1", key)
	serve := startServe(t, "redis://"+server.addr, "--notify", "http://127.0.0.1:1/")
	until(t, "the record is removed", func() bool { return server.do(t, "HSTRLEN", key, "n") == ":0\r\n" })
	if used := memoryOf(t, serve.Process.Pid); used > 256 {
		t.Errorf("serve has used %d MiB, want 256 at most", used)
	}
}

//go:build unix

package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

// A server that did answer is not called one that does not: the URL does not fit
// it, and the text says how.
func TestConnectToAnotherKindOfServer(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this waits for the ends of leases")
	}
	t.Parallel()
	server := startRedis(t)
	for url, test := range map[string]struct {
		code int
		want string
	}{
		"redis://" + server.addr + "/99":                                                 {cli.ExitUsage, "--redis does not fit the server redis://" + server.addr + "/99: DB index is out of range: the number at the end"},
		"sentinel://" + server.addr + "/m":                                               {cli.ExitUsage, "it is not a Sentinel; for a single server use redis://"},
		"sentinel://" + answering(t, "-ERR No such master with that name\r\n") + "/m":    {cli.ExitUsage, ": No such master with that name: the name at the end of the URL is that of a 'sentinel monitor' line"},
		"cluster://" + server.addr:                                                       {cli.ExitUsage, "the server is not part of a cluster: use redis://"},
		"redis://u:hunter2@" + server.addr:                                               {cli.ExitNoPerm, "redis://" + server.addr + " refused: WRONGPASS"},
		"rediss://" + server.addr:                                                        {cli.ExitUnreachable, "if it has no TLS, use redis://"},
		"redis://" + answering(t, "HTTP/1.1 400 Bad Request\r\n\r\n"):                    {cli.ExitUnreachable, " is not a Redis server (received unknown message type: 72): check host and port in the URL"},
		"redis://" + answering(t, "\x15\x03\x01\x00\x02\x02\x46"):                        {cli.ExitUsage, " wants TLS: "},
		"redis://" + answering(t, "-LOADING Redis is loading the dataset in memory\r\n"): {cli.ExitUnreachable, " is not ready: LOADING Redis is loading the dataset in memory: wait until"},
		"redis://u:e@" + answering(t, "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'u' 'e' \r\n"): {cli.ExitUsage, "unknown command 'HELLO'"},
	} {
		text := wantShown(t, test.code, "holdfast: ", "ls", "--redis", url)
		if !strings.Contains(text, test.want) {
			t.Errorf("%s: said %q, want it to say %q", url, text, test.want)
		}
		for _, wrong := range []string{"hunter2", "'u' 'e'", "rueidis"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: said %q, which has %q in it", url, text, wrong)
			}
		}
		if got, want := strings.Contains(text, "no answer"), strings.HasPrefix(url, "rediss:"); got != want {
			t.Errorf("%s: said %q: no answer is %t, want %t", url, text, got, want)
		}
	}
}

// answering is the address of something that gives the same answer to every
// command.
func answering(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 4096)
				for n, err := conn.Read(buffer); err == nil; n, err = conn.Read(buffer) {
					_, _ = conn.Write(bytes.Repeat([]byte(answer), bytes.Count(buffer[:n], []byte("*"))))
				}
			}()
		}
	}()
	return listener.Addr().String()
}

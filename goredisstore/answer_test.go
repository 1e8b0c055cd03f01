package goredisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/goredisstore"
	"github.com/redis/go-redis/v9"
)

// confused is a server that confirms another channel than it was asked for.
func confused(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for line := bufio.NewScanner(conn); line.Scan(); {
					switch word := strings.ToUpper(line.Text()); word {
					case "HELLO", "CLIENT":
						_, _ = fmt.Fprint(conn, "-ERR unknown command\r\n")
					case "SUBSCRIBE":
						_, _ = fmt.Fprint(conn, "*3\r\n$9\r\nsubscribe\r\n$5\r\nother\r\n:1\r\n")
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// An answer that fits no request says that the stream is not understood: nothing that is
// read on it can be trusted.
func TestAnswerToAnother(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: confused(t), Protocol: 2})
	defer func() { _ = client.Close() }()
	store := goredisstore.New(client)
	defer func() { _ = store.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	sub, err := store.Subscribe(ctx, "mine", func(string) {})
	if err == nil {
		sub.Close()
		t.Fatal("the confirmation of another channel was taken for this one's")
	}
	if ctx.Err() != nil || !strings.Contains(err.Error(), "without a request") {
		t.Fatalf("got %v, want the connection ended", err)
	}
}

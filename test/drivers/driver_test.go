// Package drivers_test tests the drivers on real servers.
package drivers_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/embedded"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// command runs a command on a server, past the driver.
type command func(args ...any) string

// eachServer runs a test with each driver against a real server and against the
// embedded one, in both protocols: clients take different ways then, above all
// for subscriptions.
func eachServer(t *testing.T, test func(t *testing.T, store driver.Store, do command)) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		local, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = local.Close() }()
		if _, err := local.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		inProcess := func(args ...any) string {
			texts := make([]string, len(args))
			for i, arg := range args {
				texts[i] = fmt.Sprint(arg)
			}
			reply, err := local.Do(texts...)
			if err != nil {
				t.Errorf("%v: %v", args, err)
			}
			return fmt.Sprint(reply)
		}
		for protocol, w := range clienttest.Protocols {
			t.Run("redis "+protocol, func(t *testing.T) {
				test(t, d.Open(t, server.URL(), w), func(args ...any) string { return server.MustDo(t, args...) })
			})
			t.Run("embedded "+protocol, func(t *testing.T) { test(t, d.Open(t, local.URL(), w), inProcess) })
		}
	})
}

func TestDriverEval(t *testing.T) {
	tests := map[string][]string{
		"return {'a', 2, 'c'}":               {"a", "2", "c"},
		"return 'a'":                         {"a"},
		"return 7":                           {"7"},
		"return redis.status_reply('FINE')":  {"FINE"},
		"return false":                       nil,
		"return {}":                          nil,
		"return {'a', false, 'c'}":           {"a", "", "c"},
		"return {KEYS[1], KEYS[2], ARGV[1]}": {"k1", "k2", "with space\r\n\x00"},
	}
	eachServer(t, func(t *testing.T, store driver.Store, do command) {
		for source, want := range tests {
			call := driver.Call{Script: clienttest.Lua(source), Keys: []string{"k1", "k2"}, Args: []string{"with space\r\n\x00"}}
			for range 2 { // by source, then by SHA
				got, err := store.Eval(t.Context(), call)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: got %q, %v, want %q", source, got, err, want)
				}
			}
			do("SCRIPT", "FLUSH") // some are the same to the next protocol
		}
		for _, words := range []string{"ERR plain", "NOPERM no", "ERR DB index", "ERR ERR twice"} {
			_, err := store.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return {err = ARGV[1]}"), Args: []string{words}})
			if got := refusal(t, err); got != words && !strings.HasPrefix(got, words+" script: ") { // Redis 7 adds where
				t.Errorf("got %q, want %q", got, words)
			}
		}
		if _, err := store.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return {'a', {'b'}}")}); err == nil {
			t.Error("a nested answer was taken for text")
		}
	})
}

func TestDriverEvalAll(t *testing.T) {
	calls := make([]driver.Call, 150) // more than two pipelines
	for i := range calls {
		calls[i] = driver.Call{Script: clienttest.Lua("return {KEYS[1], ARGV[1], #ARGV}"), Keys: []string{"k"}, Args: []string{fmt.Sprint(i)}}
		if i%10 == 3 {
			calls[i].Script = clienttest.Lua("return {err = 'NO ' .. ARGV[1]}")
		}
	}
	eachServer(t, func(t *testing.T, store driver.Store, do command) {
		for round := range 3 { // by source, by SHA, and by source again
			for i, result := range store.EvalAll(t.Context(), calls) {
				if i%10 == 3 {
					if got := refusal(t, result.Err); !strings.HasPrefix(got, fmt.Sprint("NO ", i)) {
						t.Errorf("call %d: got %q", i, got)
					}
				} else if want := []string{"k", fmt.Sprint(i), "1"}; result.Err != nil || !slices.Equal(result.Reply, want) {
					t.Fatalf("call %d: got %q, %v", i, result.Reply, result.Err)
				}
			}
			if round == 1 {
				do("SCRIPT", "FLUSH")
			}
		}
		if got := store.EvalAll(t.Context(), nil); len(got) != 0 {
			t.Errorf("no calls gave %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, result := range store.EvalAll(ctx, calls) {
			if !errors.Is(result.Err, context.Canceled) {
				t.Errorf("got %v, want the context's error", result.Err)
			}
		}
	})
}

func TestDriverScan(t *testing.T) {
	eachServer(t, func(t *testing.T, store driver.Store, do command) {
		for i := range 1500 { // three pages
			do("SET", fmt.Sprint("a:", i), 1)
		}
		seen := map[string]bool{}
		for key, err := range store.Scan(t.Context(), "a:*9") {
			if err != nil {
				t.Fatal(err)
			}
			seen[key] = true
		}
		if len(seen) != 150 {
			t.Errorf("got %d keys, want 150", len(seen))
		}
		for _, err := range store.Scan(t.Context(), "*") {
			if err != nil {
				t.Error(err)
			}
			break // must not go on yielding
		}
	})
}

// A scan goes on if a page is lost: it only reads.
func TestDriverScanAfterALoss(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		server.MustDo(t, "EVAL", "for i = 1, 1500 do redis.call('SET', i, 1) end", 0)
		proxy := redistest.StartProxy(t, server.Addr())
		store, _, end := d.Adopt(proxy.Addr())
		defer end()
		seen := map[string]bool{}
		for key, err := range store.Scan(t.Context(), "*") {
			if err != nil {
				t.Fatal(err)
			}
			if seen[key] = true; len(seen) == 100 {
				proxy.LoseReply(1)
			}
		}
		if len(seen) != 1500 {
			t.Errorf("got %d keys, want 1500", len(seen))
		}
	})
}

func TestDriverSubscription(t *testing.T) {
	eachServer(t, func(t *testing.T, store driver.Store, do command) {
		got := make(chan string, 100)
		sub := clienttest.Subscribe(t, store, "c", func(payload string) { got <- payload })
		for i := range 100 { // heard from the first on: it is confirmed
			if heard := do("PUBLISH", "c", i); heard != "1" {
				t.Fatalf("message %d: heard by %s", i, heard)
			}
			if i%10 == 0 { // which adds no listener
				if err := sub.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 100 {
			if message := <-got; message != fmt.Sprint(i) {
				t.Fatalf("got %q, want %d", message, i)
			}
		}

		sub.Close()
		sub.Close()
		clienttest.Ended(t, sub)
		if sub.Ping(t.Context()) == nil {
			t.Error("a closed subscription answered a ping")
		}
		clienttest.Eventually(t, "its connection is gone", func() bool { return do("PUBLISH", "c", "x") == "0" })
	})
}

func TestDriverLeavesAClientOpen(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		store, ping, end := d.Adopt(server.Addr())
		defer end()
		sub := clienttest.Subscribe(t, store, "c", func(string) {})
		for range 2 {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
		clienttest.Ended(t, sub)
		if _, err := store.Subscribe(t.Context(), "c", func(string) {}); err == nil {
			t.Error("subscribed after Close")
		}
		if err := ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDriverOpenFails(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{})
		for _, url := range []string{"redis://127.0.0.1:1", "redis://127.0.0.1:1/2", "unix:///nonexistent/socket", "cluster://" + server.Addr(), server.Addr()} {
			store, err := d.Try(url, clienttest.Way{})
			if err == nil {
				_ = store.Close()
				t.Errorf("%s: no error", url)
			}
		}
	})
}

func TestDriverWaysIn(t *testing.T) {
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		server := redistest.Start(t, redistest.Options{
			Password: "p@ss/word?#%:",
			Socket:   true,
			ACL:      []string{"user app on >pw ~app:* &app:* +@all -config"},
		})
		password := url.QueryEscape("p@ss/word?#%:")
		store := d.Open(t, "redis://:"+password+"@"+server.Addr()+"/3", clienttest.Way{})
		clienttest.Eval(t, store, "return redis.call('SET', KEYS[1], 'here')", "k")

		socket := d.Open(t, "unix://default:"+password+"@"+server.Socket()+"?db=3", clienttest.Way{})
		if got := clienttest.Eval(t, socket, "return redis.call('GET', KEYS[1])", "k"); !slices.Equal(got, []string{"here"}) {
			t.Errorf("got %q over the socket", got)
		}
		got := make(chan string, 1)
		clienttest.Subscribe(t, socket, "c", func(payload string) { got <- payload })
		clienttest.Eval(t, store, "return redis.call('PUBLISH', 'c', 'hello')")
		if message := <-got; message != "hello" {
			t.Errorf("got %q", message)
		}

		app := d.Open(t, "redis://app:pw@"+server.Addr(), clienttest.Way{})
		_, err := app.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return 1"), Keys: []string{"other"}})
		if !strings.HasPrefix(refusal(t, err), "NOPERM") {
			t.Errorf("got %v, want NOPERM", err)
		}
		_, err = app.Subscribe(t.Context(), "other", func(string) {})
		if !strings.HasPrefix(refusal(t, err), "NOPERM") {
			t.Errorf("got %v, want NOPERM", err)
		}
		clienttest.Subscribe(t, app, "app:c", func(string) {})

		_, err = d.Try("redis://app:wrong-password@"+server.Addr(), clienttest.Way{})
		if err == nil || strings.Contains(err.Error(), "wrong-password") {
			t.Errorf("got %v, want an error without the password", err)
		}
		_, err = store.Eval(t.Context(), driver.Call{Script: clienttest.Lua("return redis.error_reply('ERR my own')")})
		if got := refusal(t, err); !strings.HasPrefix(got, "ERR my own") {
			t.Errorf("got %q, want the server's words", got)
		}
	})
}

func refusal(t testing.TB, err error) string {
	t.Helper()
	refused, ok := errors.AsType[driver.ServerError](err)
	if !ok {
		t.Errorf("got %T (%v), want a ServerError", err, err)
	}
	return string(refused)
}

func TestDriverTLS(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	certFile, config := certificate(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				backend, err := net.Dial("tcp", server.Addr())
				if err != nil {
					return
				}
				defer func() { _ = backend.Close() }()
				go func() { _, _ = io.Copy(backend, client); _ = backend.Close() }()
				_, _ = io.Copy(client, backend)
			}()
		}
	}()
	address := "rediss://" + listener.Addr().String()
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		store := d.Open(t, address+"?server_name=demo.example&ca="+url.QueryEscape(certFile), clienttest.Way{})
		clienttest.Subscribe(t, store, "c", func(string) {})
		clienttest.Eval(t, store, "return 1")
		if _, err := d.Try(address+"?server_name=demo.example", clienttest.Way{}); err == nil {
			t.Error("a certificate of an unknown authority was taken")
		}
	})
}

func certificate(t testing.TB) (file string, config *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "demo"}, DNSNames: []string{"demo.example"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

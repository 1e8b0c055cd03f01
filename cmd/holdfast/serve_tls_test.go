//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/server/auth"
)

// issued writes a certificate for 127.0.0.1 that has signed itself, and its key.
func issued(t *testing.T) (cert, key string, parsed *x509.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, parsed
}

// With a certificate and its key it serves HTTPS; with another's key it does not begin.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	cert, key, parsed := issued(t)
	s := startServe(t, startServer(t).URL(), "--tls-cert", cert, "--tls-key", key)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	r, err := client.Get(s.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if !strings.HasPrefix(s.url, "https://") || r.StatusCode != http.StatusOK || r.ProtoMajor != 2 {
		t.Errorf("%s: %s, %s; want 200 by HTTP/2", s.url, r.Status, r.Proto)
	}
	_, other, _ := issued(t)
	var out bytes.Buffer
	if got := runInProcess(t.Context(), &out, &out, "serve", "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", other); got != cli.ExitConfig || !strings.Contains(out.String(), "does not match") {
		t.Errorf("with another's key: exit code %d, want %d, and said %q", got, cli.ExitConfig, &out)
	}
}

// A renewed certificate is served without a restart. If it does not fit its key, the server logs
// that and keeps the old one.
func TestServeRereadsTheCertificate(t *testing.T) {
	t.Parallel()
	cert, key, first := issued(t)
	s := startServe(t, startServer(t).URL(), "--tls-cert", cert, "--tls-key", key)
	ask := func() (served *x509.Certificate, said string) {
		t.Helper()
		client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it compares the certificate
		r, err := client.Get(s.url + "/readyz?verbose")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v: %s", r.Status, err, text)
		}
		return r.TLS.PeerCertificates[0], string(text)
	}
	if served, said := ask(); !served.Equal(first) || !strings.Contains(said, `"certificate":"ok"`) {
		t.Fatalf("at first: %v, %s", served.SerialNumber, said)
	}
	newCert, newKey, second := issued(t)
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(newCert, cert)
	until(t, "it says that the certificate does not fit", func() bool {
		served, said := ask()
		if !served.Equal(first) {
			t.Fatal("it serves a certificate without its key")
		}
		return strings.Contains(said, "does not match") && strings.Contains(s.stderr.String(), "the previous one stays")
	})
	move(newKey, key)
	until(t, "it serves the new certificate", func() bool {
		served, said := ask()
		return served.Equal(second) && strings.Contains(said, `"certificate":"ok"`)
	})
	if got := strings.Count(s.stderr.String(), "new connections get the new certificate"); got != 1 {
		t.Errorf("the log says %d times that the certificate was renewed", got)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	until(t, "it says that the key is gone", func() bool {
		served, said := ask()
		return served.Equal(second) && strings.Contains(said, "no such file")
	})
}

// Handshakes that never end keep no renewal out, and end no stream of HTTP/2.
func TestServeUnfinishedHandshakes(t *testing.T) {
	t.Parallel()
	file, secrets, _ := newTokens(t, auth.User)
	cert, key, parsed := issued(t)
	s := startServe(t, startRedis(t).url(), "--tokens", file, "--max-connections", "40", "--tls-cert", cert, "--tls-key", key).by(secrets[0])
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	send := func(method, path, body string) *http.Response { // by a connection of its own
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
		t.Cleanup(client.CloseIdleConnections)
		q, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		s.authorize(q)
		r, err := client.Do(q)
		if err != nil || r.ProtoMajor != 2 {
			t.Fatalf("%s %s: %+v, %v", method, path, r, err)
		}
		t.Cleanup(func() { _ = r.Body.Close() })
		return r
	}
	stream := send("POST", "/v1/leases/stream", `{"name": "n", "ttl": "3s"}`)
	lines := bufio.NewScanner(stream.Body)
	for range 5 {
		for i := range 40 {
			c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "https://"), patience)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if i%2 == 1 {
				_, _ = io.WriteString(c, "\x16\x03\x01") // the first bytes of a handshake
			}
		}
		if r := send("GET", "/v1/locks/n", ""); r.StatusCode != http.StatusOK {
			t.Errorf("behind 40 handshakes: %s", r.Status)
		}
	}
	for over := time.Now(); lines.Scan(); {
		if strings.Contains(lines.Text(), "event: renewed") && time.Since(over) > time.Second {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

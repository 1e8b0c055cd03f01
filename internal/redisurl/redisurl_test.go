package redisurl_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redisurl"
	"github.com/holdfast-go/holdfast/internal/redisurl/urltest"
)

// What a URL says arrives whole: addresses, credentials, database, TLS, master.
func TestParse(t *testing.T) {
	for text, want := range urltest.Taken {
		u, err := redisurl.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := urltest.Summary(*u); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

// The kind decides which client a driver makes.
func TestParseKind(t *testing.T) {
	tests := map[string]redisurl.Kind{
		"redis://h": redisurl.Server, "valkeys://h": redisurl.Server, "unix:///s": redisurl.Socket,
		"sentinel://h/m": redisurl.Sentinel, "clusters://h": redisurl.Cluster,
	}
	for text, want := range tests {
		if u, err := redisurl.Parse(text); err != nil || u.Kind != want {
			t.Errorf("%s: got %+v, %v, want kind %d", text, u, err, want)
		}
	}
}

// What is wrong is refused with the reason, and without the password.
func TestParseRefuses(t *testing.T) {
	for text, want := range urltest.Refused {
		u, err := redisurl.Parse(text)
		if err == nil {
			t.Errorf("%q: got %s, want an error", text, urltest.Summary(*u))
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(strings.ToLower(err.Error()), "hunter") {
			t.Errorf("%q: got %q, want it to say %q", text, err, want)
		}
	}
}

// The files that a URL names are read, and their order matters.
func TestParseWithCertificates(t *testing.T) {
	cert, key := certificate(t)
	u, err := redisurl.Parse("rediss://h?ca=" + url.QueryEscape(cert) + "&cert=" + url.QueryEscape(cert) + "&key=" + url.QueryEscape(key))
	if err != nil {
		t.Fatal(err)
	}
	if u.TLS.RootCAs == nil || len(u.TLS.Certificates) != 1 {
		t.Error("the files were not used")
	}
	for _, query := range []string{"ca=" + url.QueryEscape(key), "cert=" + url.QueryEscape(key) + "&key=" + url.QueryEscape(cert)} {
		if _, err := redisurl.Parse("rediss://h?" + query); err == nil {
			t.Errorf("%s: no error", query)
		}
	}
}

func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "h"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", pkcs8)
}

// FuzzParse: nothing panics, and what is said about a URL does not depend on
// the passwords in it, whatever stands around them.
func FuzzParse(f *testing.F) {
	seeds := [][2]string{
		{"redis://user:", "@localhost:6379/0"}, {"redis://:", "@h"}, {"rediss://:", "@h?server_name=x"},
		{"unix://u:", "@/run/redis.sock?db=0"}, {"sentinel://u:", "@a:1,b/master/2"}, {"cluster://u:", "@a,b:7000"},
		{"sentinel://a/m?sentinel_password=", "&sentinel_user=x"}, {"sentinel://a/m/x?sentinel_password=", ""},
		{"redis://u:", "@h/x"}, {"redis://u:", "@h:port"}, {"redis://u:", "@h?a=b"}, {"redis://u:", "/@h"}, {"redis://u:", ""},
		{"", ""}, {"redis://u:%", "@h"}, {"redis://[", "]"}, {"redis://h?", "=1"}, {"http://u:", "@h"}, {"redis://h#", ""},
		{"sentinel://h/m?unknown&", "x"}, {"sentinel://h/m?sentinel_password=a&", ""},
	}
	for _, seed := range seeds {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		_, first := redisurl.Parse(before + "SECRET-One" + after)
		_, second := redisurl.Parse(before + "SECRET-Two" + after)
		if (first == nil) != (second == nil) || first != nil && first.Error() != second.Error() {
			if strings.Contains(before, "=") && !strings.Contains(before, "password=") {
				return // the value of another parameter, such as the name of a file
			}
			t.Errorf("%q, %q: the error depends on the password: %v / %v", before, after, first, second)
		}
	})
}

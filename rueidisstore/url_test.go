package rueidisstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/rueidisstore"
	"github.com/redis/rueidis"
)

// summary is what of the options comes from the URL.
func summary(option rueidis.ClientOption) string {
	s := fmt.Sprintf("%s user=%q password=%q db=%d", strings.Join(option.InitAddress, ","), option.Username, option.Password, option.SelectDB)
	if option.TLSConfig != nil {
		s += " tls=" + option.TLSConfig.ServerName
	}
	if option.Sentinel.MasterSet != "" {
		s += fmt.Sprintf(" master=%q user=%q password=%q", option.Sentinel.MasterSet, option.Sentinel.Username, option.Sentinel.Password)
	}
	return s
}

func TestParseURL(t *testing.T) {
	tests := map[string]string{
		"redis://h":                        `h:6379 user="" password="" db=0`,
		"redis://h/":                       `h:6379 user="" password="" db=0`,
		"valkey://h:1234/5":                `h:1234 user="" password="" db=5`,
		"redis://[::1]:7":                  `[::1]:7 user="" password="" db=0`,
		"redis://[::1]":                    `[::1]:6379 user="" password="" db=0`,
		"redis://:p%40%2F%3A%25+@h":        `h:6379 user="" password="p@/:%+" db=0`,
		"redis://a%3Ab:p@ss:word@h":        `h:6379 user="a:b" password="p@ss:word" db=0`,
		"rediss://u:p@h?server_name=other": `h:6379 user="u" password="p" db=0 tls=other`,
		"valkeys://h":                      `h:6379 user="" password="" db=0 tls=`,
		"unix:///run/redis.sock":           `/run/redis.sock user="" password="" db=0`,
		"unix://u:p@/run/r%40.sock?db=3":   `/run/r@.sock user="u" password="p" db=3`,
		"cluster://a,b:2,[::1]:3":          `a:6379,b:2,[::1]:3 user="" password="" db=0`,
		"clusters://u:p@a/":                `a:6379 user="u" password="p" db=0 tls=`,
		"sentinel://a,b:2/main":            `a:26379,b:2 user="" password="" db=0 master="main" user="" password=""`,
		"sentinel://u:p@a/m%2Fn/4":         `a:26379 user="u" password="p" db=4 master="m/n" user="" password=""`,
		"sentinels://a/m?sentinel_user=s&sentinel_password=q%40r": `a:26379 user="" password="" db=0 tls= master="m" user="s" password="q@r"`,
	}
	for text, want := range tests {
		option, err := rueidisstore.ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := summary(option); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
		if !option.DisableCache || option.ClientName != "holdfast" || option.Dialer.Timeout == 0 || option.ConnWriteTimeout == 0 {
			t.Errorf("%s: the settings for a lock are missing", text)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	tests := map[string]string{ // what the error must say
		"":                              "want redis://",
		"localhost:6379":                "want redis://",
		"http://h":                      "want redis://",
		"unixs:///s":                    "want redis://",
		"redis://":                      "address",
		"redis://:6379":                 "address",
		"redis://h:":                    "port",
		"redis://h:99999":               "port",
		"redis://h:0":                   "port",
		"redis://::1":                   "IPv6",
		"redis://[::1":                  "IPv6",
		"redis://[x]:1":                 "IPv6",
		"redis://a,b":                   "cluster://",
		"redis://h/x":                   "database",
		"redis://h/1/2":                 "database",
		"redis://h/-1":                  "database",
		"redis://user@h":                "without a password",
		"redis://u:p%zz@h":              "%25",
		"redis://u:hunter/2@h":          "percent-encoded",
		"redis://u:hunter?2@h":          "percent-encoded",
		"redis://u:hunter#2@h":          "percent-encoded",
		"redis://h#x":                   "percent-encoded",
		"redis://h?timeout=3":           "unknown parameter timeout",
		"redis://h?Hunter%212=3":        "%26",
		"redis://h?ca=x":                "parameter ca needs TLS",
		"redis://h?%zz":                 "percent-encoded",
		"rediss://h?ca=a&ca=b":          "more than once",
		"rediss://h?ca=/nonexistent":    "parameter ca",
		"rediss://h?ca=/":               "not a file",
		"rediss://h?cert=x":             "go together",
		"unix://host/path":              "three slashes",
		"unix://":                       "three slashes",
		"unix:///s?db=x":                "database",
		"cluster://a/1":                 "no databases",
		"cluster://a,":                  "address",
		"sentinel://a":                  "master",
		"sentinel://a/":                 "master",
		"sentinel://a/m/x":              "database",
		"sentinel://a/m?sentinel_pass=": "unknown parameter sentinel_pass",
		"sentinel://a/m?sentinel_password=x&hunter": "%26",
	}
	for text, want := range tests {
		option, err := rueidisstore.ParseURL(text)
		if err == nil {
			t.Errorf("%q: got %s, want an error", text, summary(option))
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(strings.ToLower(err.Error()), "hunter") {
			t.Errorf("%q: got %q, want it to say %q", text, err, want)
		}
	}
}

func TestParseURLWithCertificates(t *testing.T) {
	cert, key := certificate(t)
	option, err := rueidisstore.ParseURL("rediss://h?ca=" + url.QueryEscape(cert) + "&cert=" + url.QueryEscape(cert) + "&key=" + url.QueryEscape(key))
	if err != nil {
		t.Fatal(err)
	}
	if option.TLSConfig.RootCAs == nil || len(option.TLSConfig.Certificates) != 1 {
		t.Error("the files were not used")
	}
	for _, query := range []string{"ca=" + url.QueryEscape(key), "cert=" + url.QueryEscape(key) + "&key=" + url.QueryEscape(cert)} {
		if _, err := rueidisstore.ParseURL("rediss://h?" + query); err == nil {
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

// FuzzParseURL: nothing panics, and what is said about a URL does not depend on
// the passwords in it, whatever stands around them.
func FuzzParseURL(f *testing.F) {
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
		_, first := rueidisstore.ParseURL(before + "SECRET-One" + after)
		_, second := rueidisstore.ParseURL(before + "SECRET-Two" + after)
		if (first == nil) != (second == nil) || first != nil && first.Error() != second.Error() {
			if strings.Contains(before, "=") && !strings.Contains(before, "password=") {
				return // the value of another parameter, such as the name of a file
			}
			t.Errorf("%q, %q: the error depends on the password: %v / %v", before, after, first, second)
		}
	})
}

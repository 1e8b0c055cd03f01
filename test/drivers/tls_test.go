//go:build unix

package drivers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/support/clienttest"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/driver/drivertest"
	"github.com/holdfast-go/holdfast/test/support/redistest"
)

// authority is a private certificate authority and the directory of its files.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.issue(t, "ca", a.cert)
	return a
}

// issue writes a certificate and its key, in PEM, and returns their files. The
// first is the authority's own.
func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a.key == nil {
		a.key = private
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func (a *authority) file() string { return filepath.Join(a.dir, "ca.pem") }

// secureServer starts a redis-server that speaks TLS on a port of its own and
// wants certificates of the authority.
func secureServer(t *testing.T, a *authority) (addr string) {
	t.Helper()
	cert, key := a.issue(t, "server", &x509.Certificate{
		Subject: pkix.Name{CommonName: "redis"}, DNSNames: []string{"redis.internal"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	var err error
	for range 5 { // the port can be taken by somebody else before the server has it
		listener, listenErr := net.Listen("tcp", "127.0.0.1:0")
		if listenErr != nil {
			t.Fatal(listenErr)
		}
		addr = listener.Addr().String()
		_ = listener.Close()
		_, port, _ := net.SplitHostPort(addr)
		var server *redistest.Server
		server, err = redistest.Run(t.TempDir(), redistest.Options{Config: []string{
			"tls-port " + port, "tls-auth-clients yes",
			fmt.Sprintf("tls-ca-cert-file %q", a.file()), fmt.Sprintf("tls-cert-file %q", cert), fmt.Sprintf("tls-key-file %q", key),
		}})
		if err == nil {
			t.Cleanup(server.Close)
			return addr
		}
	}
	t.Fatal(err)
	return ""
}

// With a private authority and certificates for clients the whole suite passes,
// subscriptions included, and each thing that is wrong is refused.
func TestTLSWithClientCertificates(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this needs a server")
	}
	t.Parallel()
	ours := newAuthority(t, "demo")
	addr := secureServer(t, ours)
	client := &x509.Certificate{Subject: pkix.Name{CommonName: "app"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	cert, key := ours.issue(t, "client", client)
	theirs := newAuthority(t, "elsewhere")
	forged, forgedKey := theirs.issue(t, "client", client)
	at := func(parameters ...string) string {
		query := url.Values{}
		for i := 0; i < len(parameters); i += 2 {
			query.Set(parameters[i], parameters[i+1])
		}
		return "rediss://" + addr + "?" + query.Encode()
	}
	wrong := map[string]string{
		"no certificate of ours":             at("ca", ours.file()),
		"one of another authority":           at("ca", ours.file(), "cert", forged, "key", forgedKey),
		"the server's authority not trusted": at("cert", cert, "key", key),
		"another authority trusted":          at("ca", theirs.file(), "cert", cert, "key", key),
		"the server has another name":        at("ca", ours.file(), "cert", cert, "key", key, "server_name", "other.internal"),
		"no TLS":                             "redis://" + addr,
	}
	clienttest.EachDriver(t, func(t *testing.T, d clienttest.Library) {
		t.Parallel()
		named := at("ca", ours.file(), "cert", cert, "key", key, "server_name", "redis.internal")
		clienttest.Eval(t, d.Open(t, named, clienttest.Way{}), "return 1")
		drivertest.Run(t, func(t *testing.T) driver.Store {
			return d.Open(t, at("ca", ours.file(), "cert", cert, "key", key), clienttest.Way{})
		})
		for what, bad := range wrong {
			store, err := d.Try(bad, clienttest.Way{})
			if err == nil {
				_ = store.Close()
				t.Errorf("%s: no error", what)
				continue
			}
			if strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Errorf("%s: %v has a key in it", what, err)
			}
			t.Logf("%s: %v", what, err)
		}
	})
}

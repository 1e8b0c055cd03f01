package server

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a certificate and its key, in two files (PEM). The files are
// read again within 1 s of a new connection, so that a renewed certificate needs
// no restart. While they do not fit together or have a mistake, the previous
// certificate stays. The logger gets the mistake once a minute, and each renewal.
type Certificate struct {
	cert, key string
	logger    *slog.Logger

	mu     sync.Mutex // protects the rest
	pair   *tls.Certificate
	text   []byte // of both files, as they were read last
	wrong  error  // with text; nil: nothing
	warned time.Time
	looked time.Time
}

// OpenCertificate reads a certificate and its key. A nil logger means slog.Default().
func OpenCertificate(certFile, keyFile string, logger *slog.Logger) (*Certificate, error) {
	if logger == nil {
		logger = slog.Default()
	}
	c := &Certificate{cert: certFile, key: keyFile, logger: logger, looked: time.Now()}
	if c.load(); c.wrong != nil {
		return nil, c.wrong
	}
	return c, nil
}

// Check returns what is wrong with the files; nil means nothing.
func (c *Certificate) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.wrong
}

// get is tls.Config.GetCertificate.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.pair, nil
}

// look reads the files again, once a second.
func (c *Certificate) look() {
	now := time.Now()
	if now.Sub(c.looked) < time.Second {
		return
	}
	c.looked = now
	before, pair := c.wrong, c.pair
	c.load()
	if c.wrong != nil && (before == nil || before.Error() != c.wrong.Error() || now.Sub(c.warned) >= time.Minute) {
		c.warned = now
		c.logger.Warn("server: the new certificate can't be used; the previous one stays", "certificate", c.cert, "key", c.key, "error", c.wrong)
	}
	if c.pair != pair {
		c.logger.Info("server: new connections get the new certificate", "certificate", c.cert, "key", c.key)
	}
}

// load compares the contents of the files, not their times: a changed file may have the same time.
func (c *Certificate) load() {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		c.text, c.wrong = nil, err
		return
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		c.text, c.wrong = nil, err
		return
	}
	text := append(append(cert[:len(cert):len(cert)], 0), key...)
	if c.text != nil && bytes.Equal(text, c.text) {
		return
	}
	pair, err := tls.X509KeyPair(cert, key)
	if c.text = text; err != nil {
		c.wrong = err
		return
	}
	c.pair, c.wrong = &pair, nil
}

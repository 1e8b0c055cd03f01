package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// tlsConfig reads the files of a TLS configuration. Without ca the system's authorities
// are trusted, without serverName the certificate must name the host of the address.
func tlsConfig(ca, cert, key, serverName string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: serverName}
	if ca != "" {
		pem, err := readFile(ca)
		if err != nil {
			return nil, fmt.Errorf("parameter ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("parameter ca: no certificate in the file")
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("parameters cert and key go together")
	}
	if cert == "" {
		return config, nil
	}
	pair, err := keyPair(cert, key)
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

func keyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := readFile(cert)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parameter cert: %w", err)
	}
	keyPEM, err := readFile(key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parameter key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("parameters cert and key: %w", err)
	}
	return pair, nil
}

// readFile reads a regular file of a reasonable size, so that a URL cannot make
// us hang on a device or a pipe.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, 1<<20))
}

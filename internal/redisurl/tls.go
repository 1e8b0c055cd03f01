package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// tlsConfig is made of the parameters ca, cert, key and server_name. Without ca
// the system's authorities are trusted, without server_name the certificate must
// name the host of the address.
func (u *parts) tlsConfig() (*tls.Config, error) {
	var values [4]string
	for i, name := range []string{"ca", "cert", "key", "server_name"} {
		var err error
		if values[i], err = u.take(name); err != nil {
			return nil, err
		}
	}
	ca, cert, key := values[0], values[1], values[2]
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: values[3]}
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

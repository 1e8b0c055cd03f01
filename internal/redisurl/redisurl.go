// Package redisurl reads the URLs that give the drivers the address of Redis or
// Valkey. It connects to nothing; but it reads the files that a URL names.
package redisurl

import (
	"crypto/tls"
	"errors"
	"net/url"
	"strings"
)

// Kind is what a URL leads to.
type Kind int

// The kinds. A Server may turn out to be part of a cluster, unless DB is set.
const (
	Server Kind = iota
	Socket
	Sentinel
	Cluster
)

// URL is what a URL says.
type URL struct {
	Kind           Kind
	Addrs          []string // host:port, of sentinels if Kind says so; of a Socket its path
	User, Password string
	DB             int
	TLS            *tls.Config // nil: without

	Master                         string // the name by which sentinels know it
	SentinelUser, SentinelPassword string
}

// Parse reads a URL of one of the forms
//
//	redis://[user:password@]host[:port][/db]
//	valkey://[user:password@]host[:port][/db]
//	unix://[user:password@]/path/to/socket[?db=n]
//	sentinel://[user:password@]host[:port],host[:port]/master[/db][?sentinel_user=…&sentinel_password=…]
//	cluster://[user:password@]host[:port],host[:port]
//
// and rediss, valkeys, sentinels and clusters with TLS, which take ca, cert, key
// (files in PEM) and server_name as parameters. Special characters are
// percent-encoded. Errors never contain a password, nor what may be one by
// mistake.
func Parse(text string) (*URL, error) {
	u, err := split(text)
	if err != nil {
		return nil, err
	}
	to := &URL{Kind: u.kind, User: u.user, Password: u.password}
	switch u.kind {
	case Server:
		err = to.server(&u)
	case Socket:
		err = to.socket(&u)
	case Sentinel:
		err = to.sentinel(&u)
	case Cluster:
		err = to.cluster(&u)
	}
	if err == nil && u.tls {
		to.TLS, err = u.takeTLS()
	}
	if err == nil {
		err = u.leftOver()
	}
	if err != nil {
		return nil, err
	}
	return to, nil
}

func (to *URL) server(u *parts) (err error) {
	if to.Addrs, err = u.addresses("6379"); err != nil {
		return err
	}
	if len(to.Addrs) > 1 {
		return errors.New("one server has one address: use sentinel:// or cluster:// for several")
	}
	to.DB, err = database(u.path)
	return err
}

func (to *URL) socket(u *parts) error {
	path, err := url.PathUnescape(u.path)
	if err != nil || path == "" || u.hosts != "" {
		return errors.New("a unix socket is written unix:///path/to/socket, with three slashes")
	}
	to.Addrs = []string{"/" + path}
	db, err := u.take("db")
	if err != nil {
		return err
	}
	to.DB, err = database(db)
	return err
}

func (to *URL) sentinel(u *parts) (err error) {
	if to.Addrs, err = u.addresses("26379"); err != nil {
		return err
	}
	encoded, db, _ := strings.Cut(u.path, "/")
	to.Master, err = url.PathUnescape(encoded)
	if err != nil || to.Master == "" {
		return errors.New("the name that the sentinels know the master by is missing: sentinel://host:port/master")
	}
	if to.DB, err = database(db); err != nil {
		return err
	}
	if to.SentinelUser, err = u.take("sentinel_user"); err != nil {
		return err
	}
	to.SentinelPassword, err = u.take("sentinel_password")
	u.secret = to.SentinelPassword != ""
	return err
}

func (to *URL) cluster(u *parts) (err error) {
	if u.path != "" {
		return errors.New("a cluster has no databases: nothing may follow its addresses but parameters")
	}
	to.Addrs, err = u.addresses("6379")
	return err
}

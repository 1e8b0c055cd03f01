package rueidisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// What a client made from a URL is set to. rueidis sends PING after one or two
// keepAlive without an answer, and gives the connection up silence later.
const (
	dialTimeout = 3 * time.Second
	keepAlive   = 2 * time.Second
	silence     = 3 * time.Second

	buffer        = 32 << 10 // per connection and direction; rueidis takes 512 KiB
	subscriptions = 1 << 16  // at a time, per node
	masterRefresh = 5 * time.Second
)

// forms is what people are told who gave something else.
const forms = "want redis://[user:password@]host[:port][/db], valkey:// likewise, unix:///path/to/socket, " +
	"sentinel://host:port,host:port/master or cluster://host:port,host:port; " +
	"rediss, valkeys, sentinels and clusters are the same with TLS"

// schemes gives the kind that stands before the s of TLS.
var schemes = map[string]parts{
	"redis": {kind: "redis"}, "rediss": {kind: "redis", tls: true},
	"valkey": {kind: "valkey"}, "valkeys": {kind: "valkey", tls: true},
	"sentinel": {kind: "sentinel"}, "sentinels": {kind: "sentinel", tls: true},
	"cluster": {kind: "cluster"}, "clusters": {kind: "cluster", tls: true},
	"unix": {kind: "unix"},
}

// ParseURL turns a URL into options for a rueidis client, with the times that
// suit a lock: 3 s to connect, 5 to 7 s until a server that froze is given up,
// no client-side cache. The forms are
//
//	redis://[user:password@]host[:port][/db]
//	valkey://[user:password@]host[:port][/db]
//	unix://[user:password@]/path/to/socket[?db=n]
//	sentinel://[user:password@]host[:port],host[:port]/master[/db][?sentinel_user=…&sentinel_password=…]
//	cluster://[user:password@]host[:port],host[:port]
//
// and rediss, valkeys, sentinels and clusters with TLS, which take ca, cert, key
// (files in PEM) and server_name as parameters. A redis:// address that is part
// of a cluster is used as one. Special characters are percent-encoded, in a
// password above all. Errors never contain a password, nor what may be one by
// mistake.
func ParseURL(text string) (rueidis.ClientOption, error) {
	option, err := parse(text)
	if err != nil {
		return rueidis.ClientOption{}, fmt.Errorf("rueidisstore: url: %w", err)
	}
	return option, nil
}

func parse(text string) (rueidis.ClientOption, error) {
	u, err := split(text)
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	option := defaults()
	option.Username, option.Password = u.user, u.password
	switch u.kind {
	case "redis", "valkey":
		err = u.single(&option)
	case "unix":
		err = u.unix(&option)
	case "sentinel":
		err = u.sentinel(&option)
	case "cluster":
		err = u.cluster(&option)
	}
	if err == nil && u.tls {
		option.TLSConfig, err = u.tlsConfig()
		option.Sentinel.TLSConfig = option.TLSConfig
	}
	if err == nil {
		err = u.leftOver()
	}
	if err != nil {
		return rueidis.ClientOption{}, err
	}
	return option, nil
}

func defaults() rueidis.ClientOption {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return rueidis.ClientOption{
		ClientName:          "holdfast",
		Dialer:              dialer,
		ConnWriteTimeout:    silence,
		ReadBufferEachConn:  buffer,
		WriteBufferEachConn: buffer,
		BlockingPoolSize:    subscriptions,
		DisableCache:        true,
		Sentinel: rueidis.SentinelOption{
			Dialer:                  dialer,
			ClientName:              "holdfast",
			TopologyRefreshInterval: masterRefresh, // a missed event would bind us to the old master
		},
	}
}

// parts is a URL taken apart. Package net/url cannot do it: it takes one host,
// and its errors quote what they do not like, passwords included.
type parts struct {
	kind           string // scheme without the s of TLS
	tls            bool
	user, password string
	hosts          string
	path           string // without the leading slash, still encoded
	params         url.Values
	secret         bool // a password was among the parameters
}

func split(text string) (parts, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	u, known := schemes[scheme]
	if !ok || !known {
		return u, errors.New(forms)
	}

	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	if strings.ContainsAny(tail, "@#") {
		return u, errors.New("the characters / ? # in a user or password, and @ # after the address, must be percent-encoded: %2F %3F %23 %40")
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := u.credentials(authority[:at]); err != nil {
			return u, err
		}
		authority = authority[at+1:]
	}
	u.hosts = authority
	path, query, _ := strings.Cut(tail, "?")
	u.path = strings.TrimPrefix(path, "/")

	var err error
	if u.params, err = url.ParseQuery(query); err != nil {
		return u, errors.New("the parameters after ? are not name=value&name=value, percent-encoded")
	}
	return u, nil
}

func (u *parts) credentials(text string) error {
	user, password, ok := strings.Cut(text, ":")
	if !ok {
		return errors.New("a user without a password: write user:password@host, or :password@host for the default user")
	}
	var err, err2 error
	u.user, err = url.PathUnescape(user)
	u.password, err2 = url.PathUnescape(password)
	if err != nil || err2 != nil {
		return errors.New("a % in the user or password is not followed by two hex digits: write it as %25")
	}
	return nil
}

func (u *parts) single(option *rueidis.ClientOption) (err error) {
	if option.InitAddress, err = u.addresses("6379"); err != nil {
		return err
	}
	if len(option.InitAddress) > 1 {
		return errors.New("one server has one address: use sentinel:// or cluster:// for several")
	}
	option.SelectDB, err = database(u.path)
	option.ForceSingleClient = option.SelectDB != 0 // a cluster has only database 0
	return err
}

func (u *parts) unix(option *rueidis.ClientOption) error {
	path, err := url.PathUnescape(u.path)
	if err != nil || path == "" || u.hosts != "" {
		return errors.New("a unix socket is written unix:///path/to/socket, with three slashes")
	}
	option.InitAddress = []string{"/" + path}
	option.ForceSingleClient = true
	option.DialCtxFn = func(ctx context.Context, path string, dialer *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", path)
	}
	db, err := u.take("db")
	if err != nil {
		return err
	}
	option.SelectDB, err = database(db)
	return err
}

func (u *parts) sentinel(option *rueidis.ClientOption) (err error) {
	if option.InitAddress, err = u.addresses("26379"); err != nil {
		return err
	}
	encoded, db, _ := strings.Cut(u.path, "/")
	name, err := url.PathUnescape(encoded)
	if err != nil || name == "" {
		return errors.New("the name that the sentinels know the master by is missing: sentinel://host:port/master")
	}
	option.Sentinel.MasterSet = name
	if option.SelectDB, err = database(db); err != nil {
		return err
	}
	if option.Sentinel.Username, err = u.take("sentinel_user"); err != nil {
		return err
	}
	option.Sentinel.Password, err = u.take("sentinel_password")
	u.secret = option.Sentinel.Password != ""
	return err
}

func (u *parts) cluster(option *rueidis.ClientOption) (err error) {
	if u.path != "" {
		return errors.New("a cluster has no databases: nothing may follow its addresses but parameters")
	}
	option.InitAddress, err = u.addresses("6379")
	return err
}

// addresses takes the host list apart. It quotes nothing: what looks like a
// port may be the beginning of a password.
func (u *parts) addresses(defaultPort string) ([]string, error) {
	var list []string
	for text := range strings.SplitSeq(u.hosts, ",") {
		host, port := text, defaultPort
		if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
			host, port = text[:colon], text[colon+1:]
		}
		if inner, ok := strings.CutPrefix(host, "["); ok {
			host, ok = strings.CutSuffix(inner, "]")
			if !ok || net.ParseIP(host) == nil {
				return nil, errors.New("an address in brackets is not an IPv6 address")
			}
		} else if host == "" || strings.ContainsAny(host, " \t\r\n:[]%\\") {
			return nil, errors.New("an address is not host or host:port (IPv6 in brackets)")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("a port is not a number from 1 to 65535")
		}
		list = append(list, net.JoinHostPort(host, port))
	}
	return list, nil
}

func database(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errors.New("the database is not a number from 0 on")
	}
	return int(n), nil
}

// take removes a parameter and returns its value, "" if it is not given.
func (u *parts) take(name string) (string, error) {
	values := u.params[name]
	delete(u.params, name)
	if len(values) > 1 {
		return "", fmt.Errorf("parameter %s is given more than once", name)
	}
	return strings.Join(values, ""), nil
}

// leftOver refuses the parameters that nobody took. It names them, unless one
// may be what stands behind an & in a password.
func (u *parts) leftOver() error {
	for _, name := range slices.Sorted(maps.Keys(u.params)) {
		switch {
		case name == "ca", name == "cert", name == "key", name == "server_name":
			return fmt.Errorf("parameter %s needs TLS, such as rediss://", name)
		case plain(name) && !u.secret:
			return fmt.Errorf("unknown parameter %s", name)
		default:
			return errors.New("unknown parameter, whose name may be part of a password: & is written %26")
		}
	}
	return nil
}

// plain reports whether name looks like the name of a parameter, and so can be
// repeated in an error.
func plain(name string) bool {
	return name != "" && len(name) <= 32 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

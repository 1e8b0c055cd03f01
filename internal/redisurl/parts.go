package redisurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// forms is what the error says about other URLs.
const forms = "want redis://[user:password@]host[:port][/db], valkey:// likewise, unix:///path/to/socket, " +
	"sentinel://host:port,host:port/master or cluster://host:port,host:port; " +
	"rediss, valkeys, sentinels and clusters are the same with TLS"

// schemes gives what a scheme leads to, and whether with TLS.
var schemes = map[string]parts{
	"redis": {kind: Server}, "rediss": {kind: Server, tls: true},
	"valkey": {kind: Server}, "valkeys": {kind: Server, tls: true},
	"sentinel": {kind: Sentinel}, "sentinels": {kind: Sentinel, tls: true},
	"cluster": {kind: Cluster}, "clusters": {kind: Cluster, tls: true},
	"unix": {kind: Socket},
}

// parts is a URL taken apart. Package net/url cannot do it: it takes one host,
// and its errors quote what they do not like, passwords included.
type parts struct {
	kind           Kind
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

// takeTLS makes a configuration of the parameters ca, cert, key and server_name.
func (u *parts) takeTLS() (*tls.Config, error) {
	var values [4]string
	for i, name := range []string{"ca", "cert", "key", "server_name"} {
		var err error
		if values[i], err = u.take(name); err != nil {
			return nil, err
		}
	}
	return tlsConfig(values[0], values[1], values[2], values[3])
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
